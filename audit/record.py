"""The only writer of the audit log: one function for each action.

Every argument is a keyword without a default: a missing one is a TypeError in the caller, not a
gap in the log. `_write` adds the request's id, address and user agent to each entry. No entry has
a raw key, whatever the names in it are.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.forms.models import model_to_dict

from audit.models import NEWEST_FIRST, WRITTEN, Action, AuditEntry
from config.api.request import ActiveKey
from config.database import fetch
from config.key_format import cut_raw_keys
from config.logs import redact, request_id
from config.request_context import client_info

USER_AGENT_LENGTH = 500  # characters that are stored


@dataclass(frozen=True, kw_only=True)
class WorkspaceSnapshot:
    """An entry's copy of a workspace."""

    workspace_id: UUID
    workspace_name: str


@dataclass(frozen=True, kw_only=True)
class KeySnapshot(WorkspaceSnapshot):
    """An entry's copy of an API key."""

    key_id: UUID
    key_name: str
    key_prefix: str

    @classmethod
    def of(cls, key: ActiveKey) -> "KeySnapshot":
        """A copy of the key that a request was made with."""
        return cls(
            workspace_id=key.workspace_id,
            workspace_name=key.workspace_name,
            key_id=key.id,
            key_name=key.name,
            key_prefix=key.prefix,
        )


@dataclass(frozen=True, kw_only=True)
class DocumentSnapshot:
    """An entry's copy of a document."""

    document_id: UUID
    document_title: str


_INSERT = f"""
    INSERT INTO "audit_auditentry" ({", ".join(WRITTEN)})
    VALUES ({", ".join("%s" for _ in WRITTEN)}) RETURNING id, created_at
"""  # noqa: S608 - made of constants


def stored_client() -> tuple[str, str]:
    """The address and the user agent of the current request's client, as they may be stored."""
    address, user_agent = client_info()
    return address, redact(user_agent)[:USER_AGENT_LENGTH]


def _write(action: Action, **facts: Any) -> AuditEntry:
    address, user_agent = stored_client()
    return _insert(
        AuditEntry(
            action=action,
            request_id=request_id.get(),
            address=address,
            user_agent=user_agent,
            **facts,
        )
    )


def _insert(entry: AuditEntry) -> AuditEntry:
    """Uses a prepared statement, since each download waits for its entry."""
    [[entry.pk, entry.created_at]] = fetch(_INSERT, values(entry))
    return entry


def values(entry: AuditEntry) -> list[Any]:
    """What an INSERT sets, without raw keys."""
    facts = (getattr(entry, column) for column in WRITTEN)
    return [cut_raw_keys(fact) if isinstance(fact, str) else fact for fact in facts]


def ending(started: AuditEntry, **facts: Any) -> AuditEntry:
    """The entry of an end, with all other facts of its start; that one cannot change."""
    return AuditEntry(**model_to_dict(started, exclude=["id", "occurred_at"]) | facts)


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(key_id=key_id).exists()


def key_created(*, key: KeySnapshot, person: str, note: str, expires_at: datetime | None) -> None:
    """A user created an API key.

    Args:
        note: what it is for; may be empty.
        expires_at: None if it does not expire.
    """
    facts = [f"expires {_minute(expires_at)}"] if expires_at else []
    facts += [f"for: {note}"] if note else []
    _write(Action.KEY_CREATED, **asdict(key), person=person, detail="; ".join(facts))


def key_rolled(
    *, key: KeySnapshot, person: str, ends_at: datetime | None, replaced_by: KeySnapshot
) -> None:
    """A user created a key that replaces another one.

    Args:
        key: the old key.
        ends_at: when it expires; None if it goes on.
    """
    end = f"ends {_minute(ends_at)}" if ends_at else "does not end by itself"
    name = f"{replaced_by.key_name} ({replaced_by.key_prefix}…)"
    detail = f"{end}; replaced by {name}"
    _write(Action.KEY_ROLLED, **asdict(key), person=person, detail=detail)


def _minute(moment: datetime) -> str:
    """ "2026-03-01 09:00 UTC"."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def key_revoked(*, key: KeySnapshot, person: str) -> None:
    """A user revoked an API key."""
    _write(Action.KEY_REVOKED, **asdict(key), person=person)


def key_deleted(*, key: KeySnapshot, person: str) -> None:
    """A user deleted an API key; this entry keeps its name and prefix."""
    _write(Action.KEY_DELETED, **asdict(key), person=person)


def document_downloaded(
    *,
    key: KeySnapshot,
    document: DocumentSnapshot,
    file_type: str,
    file_sha256: str,
    byte_range: str,
) -> AuditEntry:
    """A key starts to download a file, or the part `byte_range` of it ("0-99/200").

    Outside of a transaction, as in the download view, the entry is committed when this returns.
    """
    return _write(
        Action.DOCUMENT_DOWNLOADED,
        **asdict(key),
        **asdict(document),
        file_type=file_type,
        file_sha256=file_sha256,
        byte_range=byte_range,
    )


def document_viewed(
    *, workspace: WorkspaceSnapshot, document: DocumentSnapshot, person: str
) -> None:
    """A user opened a document's page in the admin."""
    _write(Action.DOCUMENT_VIEWED, **asdict(workspace), **asdict(document), person=person)


def workspace_created(*, workspace: WorkspaceSnapshot, person: str, plan: str) -> None:
    """A command created the workspace."""
    _write(Action.WORKSPACE_CREATED, **asdict(workspace), person=person, detail=plan)


def evidence_exported(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    person: str,
    sealed: int,
    unsealed: int,
) -> None:
    """A user made a document's evidence file, with so many entries."""
    _write(
        Action.EVIDENCE_EXPORTED,
        **asdict(workspace),
        **asdict(document),
        person=person,
        detail=f"{sealed:,} entries with proof, {unsealed:,} not sealed yet",
    )


def plan_changed(
    *, workspace: WorkspaceSnapshot, person: str, before: str, after: str, reason: str
) -> None:
    """A user moved the workspace to another plan."""
    _write(
        Action.PLAN_CHANGED,
        **asdict(workspace),
        person=person,
        detail=f"{before} → {after}: {reason}",
    )


def workspace_suspended(*, workspace: WorkspaceSnapshot, person: str, reason: str) -> None:
    """A user suspended the workspace: its keys are refused."""
    _write(Action.WORKSPACE_SUSPENDED, **asdict(workspace), person=person, detail=reason)


def workspace_reinstated(*, workspace: WorkspaceSnapshot, person: str, reason: str) -> None:
    """A user lifted the workspace's suspension."""
    _write(Action.WORKSPACE_REINSTATED, **asdict(workspace), person=person, detail=reason)


def newest_of(workspace_id: UUID, *actions: Action) -> AuditEntry | None:
    """The newest entry of a workspace with one of these actions, which are no downloads."""
    entries = (
        AuditEntry.objects.filter(workspace_id=workspace_id, action=action)
        .order_by(*NEWEST_FIRST)
        .first()
        for action in actions
    )
    return max(filter(None, entries), key=lambda entry: entry.pk, default=None)


def member_added(*, workspace: WorkspaceSnapshot, person: str, member: str, role: str) -> None:
    """A user added a member to the workspace."""
    _write(Action.MEMBER_ADDED, **asdict(workspace), person=person, member=member, detail=role)


def member_removed(*, workspace: WorkspaceSnapshot, person: str, member: str, role: str) -> None:
    """A user ended a membership."""
    _write(Action.MEMBER_REMOVED, **asdict(workspace), person=person, member=member, detail=role)


def member_role_changed(
    *, workspace: WorkspaceSnapshot, person: str, member: str, before: str, after: str
) -> None:
    """A user changed the role of a member."""
    _write(
        Action.MEMBER_ROLE_CHANGED,
        **asdict(workspace),
        person=person,
        member=member,
        detail=f"{before} → {after}",
    )


def invitation_created(
    *, workspace: WorkspaceSnapshot, person: str, member: str, role: str
) -> None:
    """A user invited the owner of the e-mail address `member` to the workspace."""
    _write(
        Action.INVITATION_CREATED, **asdict(workspace), person=person, member=member, detail=role
    )


def invitation_revoked(
    *, workspace: WorkspaceSnapshot, person: str, member: str, role: str
) -> None:
    """A user revoked an invitation: its link does not work any more."""
    _write(
        Action.INVITATION_REVOKED, **asdict(workspace), person=person, member=member, detail=role
    )


def invitation_accepted(
    *, workspace: WorkspaceSnapshot, person: str, member: str, invited_by: str
) -> None:
    """The invited user accepted."""
    _write(
        Action.INVITATION_ACCEPTED,
        **asdict(workspace),
        person=person,
        member=member,
        detail=f"invited by {invited_by or 'a deleted account'}",
    )


def logged_in(*, person: str) -> None:
    """A user signed in to the admin."""
    _write(Action.LOGIN, person=person)


def login_failed(*, person: str) -> None:
    """A sign-in to the admin as `person` failed; the account may not exist."""
    _write(Action.LOGIN_FAILED, person=redact(person)[:254])


def log_verified(*, person: str, detail: str) -> None:
    """The whole log was compared with the tree and its checkpoints, and is intact."""
    _write(Action.LOG_VERIFIED, person=person, detail=detail)


def log_damaged(*, person: str, detail: str) -> None:
    """The log was compared with the tree and its checkpoints, and differs."""
    _write(Action.LOG_DAMAGED, person=person, detail=detail)


def log_restored(*, person: str, detail: str) -> None:
    """The database was restored from a backup and lacks sealed entries; sealing goes on."""
    _write(Action.LOG_RESTORED, person=person, detail=detail)


def backup_made(*, person: str, detail: str) -> None:
    """The database and the bucket were backed up."""
    _write(Action.BACKUP_MADE, person=person, detail=detail)


def account_created(*, member: str, person: str, detail: str) -> None:
    """Somebody created the account `member`; `detail` has its rights."""
    _write(Action.ACCOUNT_CREATED, member=member, person=person, detail=detail)


def account_changed(*, member: str, person: str, detail: str) -> None:
    """Somebody changed the account `member`, its groups or permissions, as `detail` says."""
    _write(Action.ACCOUNT_CHANGED, member=member, person=person, detail=detail)


def account_deleted(*, member: str, person: str) -> None:
    """Somebody deleted the account `member`."""
    _write(Action.ACCOUNT_DELETED, member=member, person=person)


def password_changed(*, member: str, person: str) -> None:
    """Somebody changed or reset the password of the account `member`, perhaps its own user."""
    _write(Action.PASSWORD_CHANGED, member=member, person=person)


def password_confirmed(*, person: str) -> None:
    """A signed-in user entered the password again, before something sensitive."""
    _write(Action.PASSWORD_CONFIRMED, person=person)


def password_refused(*, person: str) -> None:
    """A signed-in user entered a wrong password, to confirm something or to change it."""
    _write(Action.PASSWORD_REFUSED, person=person)


def password_reset_requested(*, member: str) -> None:
    """Somebody asked for a link to set a new password; the account may not exist."""
    _write(Action.PASSWORD_RESET_REQUESTED, member=redact(member)[:254])


def second_factor_added(*, member: str, person: str) -> None:
    """A user has set up the second factor of the account `member`, or replaced it."""
    _write(Action.SECOND_FACTOR_ADDED, member=member, person=person)


def second_factor_removed(*, member: str, person: str) -> None:
    """A user removed the second factor of the account `member`, perhaps another user's."""
    _write(Action.SECOND_FACTOR_REMOVED, member=member, person=person)


def recovery_codes_made(*, member: str, person: str) -> None:
    """The account `member` has new recovery codes; the former ones no longer work."""
    _write(Action.RECOVERY_CODES_MADE, member=member, person=person)


def recovery_code_used(*, person: str) -> None:
    """A user signed in with a recovery code."""
    _write(Action.RECOVERY_CODE_USED, person=person)


def log_exported(*, workspace: WorkspaceSnapshot | None, person: str, detail: str) -> AuditEntry:
    """A user exports the audit log as filtered by `detail`.

    Args:
        workspace: the only workspace whose entries are exported; None if there are others.
    """
    facts = asdict(workspace) if workspace else {}
    return _write(Action.LOG_EXPORTED, **facts, person=person, detail=detail)


def log_export_ended(started: AuditEntry, *, detail: str) -> None:
    """The export of entry `started` has ended or was broken off, as `detail` says."""
    _insert(ending(started, action=Action.LOG_EXPORT_ENDED, detail=detail))


def document_changed(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    fields: Iterable[str],
    person: str,
) -> None:
    """An import changed fields of a document that was complete."""
    _write(
        Action.DOCUMENT_CHANGED,
        **asdict(workspace),
        **asdict(document),
        person=person,
        detail=", ".join(fields),
    )


_REPLACED = "before: SHA-256 {}; after: "
_SHA256_BEFORE = re.compile(_REPLACED.format("([0-9a-f]{64})"))


def file_replaced(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    file_type: str,
    before: str,
    after: str,
    person: str,
) -> None:
    """An import replaced a file of a document that was complete, or removed it.

    Args:
        before: the file's SHA-256.
        after: that of the new file; "" if it was removed.
    """
    _write(
        Action.FILE_REPLACED,
        **asdict(workspace),
        **asdict(document),
        file_type=file_type,
        file_sha256=after,
        person=person,
        detail=f"{_REPLACED.format(before)}{after or 'none'}",
    )


def sha256_before(detail: str) -> str:
    """The SHA-256 of the file that was replaced, from such an entry's detail; "" without one."""
    found = _SHA256_BEFORE.match(detail)
    return found[1] if found else ""


def owners_before_replacement(
    sha256: str,
) -> list[tuple[WorkspaceSnapshot, DocumentSnapshot, str]]:
    """The documents whose sealed file with this digest was replaced, and its type."""
    columns = ("workspace_id", "workspace_name", "document_id", "document_title", "file_type")
    entries = AuditEntry.objects.filter(
        action=Action.FILE_REPLACED, detail__startswith=_REPLACED.format(sha256)
    )
    return [
        (
            WorkspaceSnapshot(workspace_id=workspace, workspace_name=name),
            DocumentSnapshot(document_id=document, document_title=title),
            file_type,
        )
        for workspace, name, document, title, file_type in entries.values_list(*columns).distinct()
    ]


def file_damaged(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    file_type: str,
    file_sha256: str,
    detail: str,
) -> None:
    """A file in object storage is damaged or missing, as `detail` says.

    Args:
        file_sha256: that of the undamaged file.
    """
    _write(
        Action.FILE_DAMAGED,
        **asdict(workspace),
        **asdict(document),
        file_type=file_type,
        file_sha256=file_sha256,
        detail=detail,
    )


def damage_is_recorded(
    document_id: UUID, file_type: str, file_sha256: str, *, since: datetime | None
) -> bool:
    """Whether the log has an entry of this damaged file, newer than `since`."""
    entries = AuditEntry.objects.filter(
        action=Action.FILE_DAMAGED,
        document_id=document_id,
        file_type=file_type,
        file_sha256=file_sha256,
    )
    return (entries.filter(created_at__gt=since) if since else entries).exists()
