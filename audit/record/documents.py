"""Documents and their files."""

import re
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from audit.models import Action, AuditEntry
from audit.record.snapshots import DocumentSnapshot, KeySnapshot, WorkspaceSnapshot
from audit.record.writing import write


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
    return write(
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
    write(Action.DOCUMENT_VIEWED, **asdict(workspace), **asdict(document), person=person)


def evidence_exported(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    person: str,
    sealed: int,
    unsealed: int,
) -> AuditEntry:
    """A user exports a document's evidence file, with so many entries."""
    return write(
        Action.EVIDENCE_EXPORTED,
        **asdict(workspace),
        **asdict(document),
        person=person,
        detail=f"{sealed:,} entries with proof, {unsealed:,} not sealed yet",
    )


def document_imported(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    happened: Iterable[str],
    person: str,
    import_sha256: str,
) -> None:
    """An import stored a document, or changed one; `file_imported` has its files.

    Args:
        happened: "created", "completed", "deleted", "restored" or "changed".
        import_sha256: that of the imported file of documents; "" without one.
    """
    file = f"; import file: SHA-256 {import_sha256}" if import_sha256 else ""
    write(
        Action.DOCUMENT_IMPORTED,
        **asdict(workspace),
        **asdict(document),
        person=person,
        detail=f"{', '.join(happened)}{file}",
    )


def file_imported(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    file_type: str,
    file_sha256: str,
    person: str,
) -> None:
    """An import stored a file of a document that was not complete before."""
    write(
        Action.FILE_IMPORTED,
        **asdict(workspace),
        **asdict(document),
        file_type=file_type,
        file_sha256=file_sha256,
        person=person,
    )


def document_changed(
    *,
    workspace: WorkspaceSnapshot,
    document: DocumentSnapshot,
    fields: Iterable[str],
    person: str,
) -> None:
    """An import changed fields of a document that was complete."""
    write(
        Action.DOCUMENT_CHANGED,
        **asdict(workspace),
        **asdict(document),
        person=person,
        detail=", ".join(fields),
    )


# Earlier releases could replace files of complete documents, and recorded that so.
_REPLACED = "before: SHA-256 {}; after: "
_SHA256_BEFORE = re.compile(_REPLACED.format("([0-9a-f]{64})"))


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
    write(
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
