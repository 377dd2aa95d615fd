"""`record` adds an entry to the audit log; nothing else does.

`Action` says which facts each action needs: a missing one is an error in the caller, not a gap in
the log. Each entry also has the request's id, address and user agent. No entry has a raw key,
whatever the names in it are.
"""

from typing import Any

from audit.models import WRITTEN, Action, AuditEntry
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot, WorkspaceSnapshot
from config.connections import fetch
from config.request.context import client_info, request_id
from config.request.redaction import cut_raw_keys, redact, redact_sent

USER_AGENT_LENGTH = 500  # characters that are stored
PERSON_LENGTH = 254
DETAIL_LENGTH = 1000
_INSERT = f"""
    INSERT INTO "audit_auditentry" ({", ".join(WRITTEN)})
    VALUES ({", ".join("%s" for _ in WRITTEN)})
"""  # noqa: S608 - made of constants


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
) -> None:
    """Adds an entry of the current request, or of a command.

    Outside of a transaction it is committed when this returns.

    Args:
        by: the login of the user who did it, or the command.
        member: the login of the account that it was done to.
        key: has its workspace.
        detail: what else the entry says; it is cut after 1,000 characters.

    Raises TypeError if a fact is missing that the action needs, or is one that it does not have.
    """
    given: dict[str, object] = {"by": by, "member": member, "workspace": workspace, "key": key}
    given |= {"document": document, "file": file, "detail": detail}
    names = {name for name, value in given.items() if value}
    known = action.facts.split()
    if missing := {fact for fact in known if not fact.startswith("(")} - names:
        raise TypeError(f"an entry {action} needs: {', '.join(sorted(missing))}")
    if other := names - {fact.strip("()") for fact in known}:
        raise TypeError(f"an entry {action} does not have: {', '.join(sorted(other))}")
    address, user_agent = stored_client()
    facts: dict[str, Any] = {
        "person": redact(by)[:PERSON_LENGTH],
        "member": redact(member)[:PERSON_LENGTH],
        "detail": detail if len(detail) <= DETAIL_LENGTH else f"{detail[: DETAIL_LENGTH - 1]}…",
        "address": address,
        "user_agent": user_agent,
        "request_id": request_id(),
    }
    for snapshot in (workspace, key, document, file):
        if snapshot:
            facts |= vars(snapshot)
    for name, value in facts.items():
        if isinstance(value, str):
            facts[name] = cut_raw_keys(value)
    entry = AuditEntry(action=action, **facts)
    # A prepared statement, since each download waits for its entry.
    fetch(_INSERT, [getattr(entry, column) for column in WRITTEN])


def stored_client() -> tuple[str, str]:
    """The address and the user agent of the current request's client, as they may be stored."""
    address, user_agent = client_info()
    return address, redact_sent(user_agent, USER_AGENT_LENGTH)
