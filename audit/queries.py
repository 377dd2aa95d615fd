"""What other apps read in the audit log."""

import re
from datetime import datetime
from uuid import UUID

from audit.models import LISTED, NEWEST_FIRST, NO_DOWNLOADS, Action, AuditEntry
from audit.scope import Scope
from audit.snapshots import DocumentSnapshot, WorkspaceSnapshot
from config.console import keyset


def key_is_recorded(key_id: UUID) -> bool:
    """Whether the log has an entry of this key: then the key exists or existed."""
    return AuditEntry.objects.filter(LISTED, key_id=key_id).exists()


def newest_of(workspace_id: UUID, *actions: Action) -> AuditEntry | None:
    """The newest entry of a workspace with one of these actions, which are no downloads."""
    entries = AuditEntry.objects.filter(NO_DOWNLOADS, workspace_id=workspace_id, action__in=actions)
    return entries.order_by(*NEWEST_FIRST).first()


def latest_downloads(scope: Scope) -> list[AuditEntry]:
    """The 5 newest downloads in the scope."""
    downloads = AuditEntry.objects.filter(LISTED, action=Action.DOCUMENT_DOWNLOADED)
    return keyset.fetch(downloads, scope.alternatives(), None, 5)


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
