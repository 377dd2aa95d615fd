"""The only writer of the audit log: one function for each action.

Every argument is a keyword without a default: a missing one is a TypeError in the caller, not a
gap in the log. `_write` adds the request's id, address and user agent to each entry.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from django.db import connection, transaction
from django.forms.models import model_to_dict
from django.utils import timezone

from audit.models import DOWNLOADS, WRITTEN, Action, AuditEntry
from config.api.request import ActiveKey
from config.database import fetch
from config.logs import redact, request_id
from config.request_context import client_info

USER_AGENT_LENGTH = 500  # characters that are stored
COMPLETIONS_LOCK = 0x656E6473  # an arbitrary number, unique among our advisory locks

_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # as the column has it


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


def _write(action: Action, **facts: Any) -> AuditEntry:
    address, user_agent = client_info()
    return _insert(
        AuditEntry(
            action=action,
            request_id=request_id.get(),
            address=address,
            user_agent=redact(user_agent)[:USER_AGENT_LENGTH],
            **facts,
        )
    )


def _insert(entry: AuditEntry) -> AuditEntry:
    """Uses a prepared statement, since each download waits for its entry."""
    rows = fetch(_INSERT, [getattr(entry, column) for column in WRITTEN])
    [[entry.pk, entry.created_at]] = rows
    return entry


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(key_id=key_id).exists()


def key_created(*, key: KeySnapshot, person: str) -> None:
    """A user created an API key."""
    _write(Action.KEY_CREATED, **asdict(key), person=person)


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


@dataclass(frozen=True, kw_only=True)
class Completion:
    """How a download ended.

    Attributes:
        at: when.
        bytes_sent: of the response's body.
        length: bytes of the whole body; None if it is not known.
        damaged: whether a whole file had another digest than when it was stored.
    """

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    bytes_sent: _Bytes
    length: _Bytes | None
    damaged: bool


def completion_text(*, bytes_sent: int, length: int | None, size: int | None, damaged: bool) -> str:
    """How a download ended, in words.

    Args:
        length: bytes of the response's whole body; None if it is not known.
        size: bytes of the whole file; None if it is not known.
    """
    if length is None:
        text = f"broken off at {bytes_sent:,} bytes"
    elif bytes_sent < length:
        text = f"broken off at {bytes_sent:,} of {length:,} bytes"
    elif size is None or length == size:
        text = "whole file"
    else:
        return f"part: {length:,} of {size:,} bytes"
    if damaged:
        return f"damaged: its SHA-256 is not that of the stored file; {text}"
    return text if length == size else f"part, {text}"


def _completion(started: AuditEntry, completion: Completion) -> AuditEntry:
    facts = model_to_dict(started, exclude=["id", "occurred_at", "action", "bytes_sent", "detail"])
    size = int(started.byte_range.rpartition("/")[2]) if started.byte_range else completion.length
    return AuditEntry(
        action=Action.DOWNLOAD_ENDED,
        bytes_sent=completion.bytes_sent,
        detail=completion_text(
            bytes_sent=completion.bytes_sent,
            length=completion.length,
            size=size,
            damaged=completion.damaged,
        ),
        **facts,
    )


# One message to the database, so that whatever arrives of it is executed as a whole. It may arrive
# late, when its download has been recorded by `downloads_ended`, which holds the lock alone.
_INSERT_ONCE = f"""
    SELECT pg_advisory_xact_lock_shared({COMPLETIONS_LOCK});
    INSERT INTO "audit_auditentry" ({", ".join(WRITTEN)})
    SELECT {", ".join("%s" for _ in WRITTEN)} WHERE NOT EXISTS (
        SELECT FROM "audit_auditentry" WHERE request_id = %s AND action = %s)
"""  # noqa: S608 - made of constants


def download_ended(started: AuditEntry, completion: Completion) -> None:
    """The download of entry `started` has ended just now.

    This is a new entry, since the first one cannot change.
    """
    entry = _completion(started, completion)
    values = [getattr(entry, column) for column in WRITTEN]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_ONCE, [*values, entry.request_id, entry.action])


@transaction.atomic
def downloads_ended(completions: Mapping[str, Completion]) -> tuple[int, int]:
    """Records completions by the downloads' request ids, each once.

    Concurrent calls wait for each other, so that none is recorded twice.

    Returns:
        (newly recorded, already recorded); unknown request ids are in neither.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [COMPLETIONS_LOCK])
    found = AuditEntry.objects.filter(request_id__in=list(completions), action__in=DOWNLOADS)
    started: dict[str, AuditEntry] = {}
    ended: set[str] = set()
    for entry in found:
        if entry.action == Action.DOWNLOAD_ENDED:
            ended.add(entry.request_id)
        else:
            started[entry.request_id] = entry
    now = timezone.now()
    new = []
    for key, start in started.items():
        if key in ended:
            continue
        entry = _completion(start, completions[key])
        # Another machine's clock may differ a little.
        entry.occurred_at = min(max(completions[key].at, start.created_at), now)
        new.append(entry)
    AuditEntry.objects.bulk_create(new)
    return len(new), len(ended)


def plan_changed(*, workspace: WorkspaceSnapshot, person: str, before: str, after: str) -> None:
    """A user moved the workspace to another plan."""
    _write(Action.PLAN_CHANGED, **asdict(workspace), person=person, detail=f"{before} → {after}")


def workspace_suspended(*, workspace: WorkspaceSnapshot, person: str) -> None:
    """A user suspended the workspace: its keys are refused."""
    _write(Action.WORKSPACE_SUSPENDED, **asdict(workspace), person=person)


def workspace_reinstated(*, workspace: WorkspaceSnapshot, person: str) -> None:
    """A user lifted the workspace's suspension."""
    _write(Action.WORKSPACE_REINSTATED, **asdict(workspace), person=person)


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


def logged_in(*, person: str) -> None:
    """A user signed in to the admin."""
    _write(Action.LOGIN, person=person)


def login_failed(*, person: str) -> None:
    """A sign-in to the admin as `person` failed; the account may not exist."""
    _write(Action.LOGIN_FAILED, person=redact(person)[:254])
