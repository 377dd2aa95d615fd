"""Every download is in the audit log under the key's name, before its first byte."""

from audit.models import Action, AuditEntry
from audit.record import record
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot
from config.runtime import metrics
from documents.download.file_choice import Download
from documents.download.ranges import ByteRange


def record_download(download: Download, part: ByteRange | None) -> AuditEntry:
    """Writes the audit entry of a download that starts, and counts it."""
    document = download.document
    entry = record(
        Action.DOCUMENT_DOWNLOADED,
        key=KeySnapshot.of(download.key),
        document=DocumentSnapshot(document_id=document.id, document_title=document.title),
        file=FileSnapshot(
            file_type=download.file_type,
            file_sha256=download.file.sha256,
            byte_range=part.content_range.removeprefix("bytes ") if part else "",
        ),
    )
    metrics.DOWNLOADS_STARTED.labels(download.file_type).inc()
    return entry
