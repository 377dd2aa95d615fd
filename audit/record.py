"""`record` adds an entry to the audit log. Only the ends of downloads have another writer.

`FACTS` says which facts each action needs: a missing one is an error in the caller, not a gap in
the log. Each entry also has the request's id, address and user agent. No entry has a raw key,
whatever the names in it are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.db import connection
from django.forms.models import model_to_dict

from audit.models import WRITTEN, Action, AuditEntry
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot, WorkspaceSnapshot
from config.runtime.database import fetch
from config.runtime.key_format import cut_raw_keys
from config.runtime.logs import redact, request_id
from config.runtime.request_context import client_info

# What an entry of each action has, but for those that end another entry (`ending`). A fact in
# parentheses may be missing.
FACTS: dict[Action, str] = {
    Action.KEY_CREATED: "by key (detail)",  # when it expires
    Action.KEY_ROLLED: "by key detail",  # when it ends, the new key
    Action.KEY_REVOKED: "by key",
    Action.KEY_DELETED: "by key",
    # The detail begins with the URL without its query, and the id.
    Action.WEBHOOK_CREATED: "by workspace detail",  # types of events
    Action.WEBHOOK_CHANGED: "by workspace detail",  # what changed
    Action.WEBHOOK_SWITCHED_ON: "by workspace detail",
    Action.WEBHOOK_SWITCHED_OFF: "by workspace detail",  # why, if the service did it
    Action.WEBHOOK_SECRET_ROLLED: "by workspace detail",
    Action.WEBHOOK_DELETED: "by workspace detail",
    Action.WEBHOOK_TEST_SENT: "by workspace detail",
    Action.WEBHOOK_SENT_AGAIN: "by workspace detail",  # an event's id, or how many
    Action.DOCUMENT_DOWNLOADED: "key document file",
    Action.DOCUMENT_VIEWED: "by workspace document",
    Action.DOCUMENT_IMPORTED: "by workspace document detail",  # what happened to it
    Action.FILE_IMPORTED: "by workspace document file",
    Action.DOCUMENT_CHANGED: "by workspace document detail",  # fields
    Action.FILE_DAMAGED: "workspace document file detail",  # the digest is the undamaged file's
    Action.EVIDENCE_EXPORTED: "by workspace document detail",  # how many entries
    Action.WORKSPACE_CREATED: "by workspace detail",  # the plan
    Action.PLAN_CHANGED: "by workspace detail",  # from which to which, why
    Action.WORKSPACE_SUSPENDED: "by workspace detail",  # why
    Action.WORKSPACE_REINSTATED: "by workspace detail",  # why
    Action.MEMBER_ADDED: "by workspace member detail",  # the role
    Action.MEMBER_REMOVED: "by workspace member detail",  # the role
    Action.MEMBER_ROLE_CHANGED: "by workspace member detail",  # from which to which
    Action.INVITATION_CREATED: "by workspace member detail",  # the role
    Action.INVITATION_ACCEPTED: "by workspace member detail",  # who invited
    Action.INVITATION_REVOKED: "by workspace member detail",  # the role
    Action.LOGIN: "by",
    Action.LOGOUT: "by",
    Action.LOGIN_FAILED: "(by) (detail)",  # the typed login, unless it may be a password
    Action.SESSIONS_ENDED: "by member detail",  # how many
    Action.ACCOUNT_CREATED: "by member (detail)",  # rights
    Action.ACCOUNT_CHANGED: "by member detail",  # from which to which
    Action.OPERATOR_MADE: "by member detail",  # why, as the following
    Action.OPERATOR_ENDED: "by member detail",
    Action.SUPPORT_MADE: "by member detail",
    Action.SUPPORT_ENDED: "by member detail",
    Action.ACCOUNT_DELETED: "by member",
    Action.PASSWORD_CHANGED: "(by) member",  # without by: with the link of an e-mail
    Action.PASSWORD_CONFIRMED: "by",
    Action.PASSWORD_REFUSED: "by (detail)",
    Action.PASSWORD_RESET_REQUESTED: "member",  # the account may not exist
    Action.ADDRESS_CONFIRMED: "(by) member detail",  # the address; as above
    Action.SECOND_FACTOR_ADDED: "by member",
    Action.SECOND_FACTOR_REMOVED: "by member",
    Action.RECOVERY_CODES_MADE: "by member",
    Action.RECOVERY_CODE_USED: "by",
    Action.LOG_EXPORTED: "by (workspace) detail",  # the filters; the only workspace in it
    Action.LOG_VERIFIED: "by detail",
    Action.LOG_DAMAGED: "by detail",
    Action.LOG_RESTORED: "by detail",
    Action.COMMAND_RUN: "by detail",
    Action.BACKUP_MADE: "by (detail)",
}

USER_AGENT_LENGTH = 500  # characters that are stored
PERSON_LENGTH = 254
DETAIL_LENGTH = 1000
_COLUMNS = ", ".join(WRITTEN)
_INSERT = f"""
    INSERT INTO "audit_auditentry" ({_COLUMNS})
    VALUES ({", ".join("%s" for _ in WRITTEN)}) RETURNING id, created_at
"""  # noqa: S608 - made of constants

IN_MEMORY = 1000  # entries of `together`; the others are in a temporary table
_CREATE = f"""
    CREATE TEMPORARY TABLE audit_waiting AS SELECT {_COLUMNS} FROM audit_auditentry WITH NO DATA
"""  # noqa: S608 - made of constants
_ADD = f"""
    INSERT INTO audit_auditentry ({_COLUMNS}) SELECT {_COLUMNS} FROM audit_waiting;
    DROP TABLE audit_waiting
"""  # noqa: S608 - made of constants
_waiting: ContextVar[list[AuditEntry] | None] = ContextVar("waiting", default=None)


def record(
    action: Action,
    *,
    by: str = "",
    member: str = "",
    workspace: WorkspaceSnapshot | None = None,
    key: KeySnapshot | None = None,
    document: DocumentSnapshot | None = None,
    file: FileSnapshot | None = None,
    detail: str = "",
) -> AuditEntry:
    """Adds an entry of the current request, or of a command.

    Outside of a transaction it is committed when this returns.

    Args:
        by: the login of the user who did it, or the command.
        member: the login of the account that it was done to.
        key: has its workspace.
        detail: what else the entry says; it is cut after 1,000 characters.

    Raises:
        TypeError: a fact is missing that the action needs, or is given and does not belong to it.
    """
    given: dict[str, object] = {"by": by, "member": member, "workspace": workspace, "key": key}
    given |= {"document": document, "file": file, "detail": detail}
    names = {name for name, value in given.items() if value}
    known = FACTS[action].split()
    if missing := {fact for fact in known if not fact.startswith("(")} - names:
        raise TypeError(f"an entry {action} needs: {', '.join(sorted(missing))}")
    if other := names - {fact.strip("()") for fact in known}:
        raise TypeError(f"an entry {action} does not have: {', '.join(sorted(other))}")
    facts: dict[str, Any] = {}
    for snapshot in (workspace, key, document, file):
        if snapshot:
            facts |= vars(snapshot)
    address, user_agent = stored_client()
    entry = AuditEntry(
        action=action,
        person=redact(by)[:PERSON_LENGTH],
        member=redact(member)[:PERSON_LENGTH],
        detail=detail if len(detail) <= DETAIL_LENGTH else f"{detail[: DETAIL_LENGTH - 1]}…",
        request_id=request_id.get(),
        address=address,
        user_agent=user_agent,
        **facts,
    )
    waiting = _waiting.get()
    if waiting is None:
        return _insert(entry)
    waiting.append(entry)
    if len(waiting) >= IN_MEMORY:
        _copy(waiting)
    return entry


def record_end(started: AuditEntry, action: Action, *, detail: str) -> None:
    """Adds the entry of the end of what `started` began."""
    _insert(ending(started, action=action, detail=detail))


def ending(started: AuditEntry, **facts: Any) -> AuditEntry:
    """The entry of an end, with all other facts of its start; that one cannot change."""
    return AuditEntry(**model_to_dict(started, exclude=["id", "occurred_at"]) | facts)


def stored_client() -> tuple[str, str]:
    """The address and the user agent of the current request's client, as they may be stored."""
    address, user_agent = client_info()
    return address, redact(user_agent)[:USER_AGENT_LENGTH]


@contextmanager
def together() -> Iterator[None]:
    """Adds the entries that are recorded meanwhile at the end, all at once.

    For many entries in a long transaction, which is the caller's: that is quick, and the entries
    can be sealed soon after the time that they have.
    """
    waiting: list[AuditEntry] = []
    with connection.cursor() as cursor:
        cursor.execute(_CREATE)
        token = _waiting.set(waiting)
        try:
            yield
        finally:
            _waiting.reset(token)
        _copy(waiting)
        cursor.execute(_ADD)


def _copy(entries: list[AuditEntry]) -> None:
    """Moves entries to the temporary table."""
    with (
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(f"COPY audit_waiting ({_COLUMNS}) FROM STDIN") as copy,
    ):
        for entry in entries:
            copy.write_row(_values(entry))
    entries.clear()


def _insert(entry: AuditEntry) -> AuditEntry:
    """Adds an entry. Uses a prepared statement, since each download waits for its entry."""
    [[entry.pk, entry.created_at]] = fetch(_INSERT, _values(entry))
    return entry


def _values(entry: AuditEntry) -> list[Any]:
    """What an INSERT sets, without raw keys."""
    facts = (getattr(entry, column) for column in WRITTEN)
    return [cut_raw_keys(fact) if isinstance(fact, str) else fact for fact in facts]
