"""The response to a download: which file, which part of it, its headers, its audit entry."""

import base64
import contextlib
from dataclasses import dataclass

from django.conf import settings
from django.http import (
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
    StreamingHttpResponse,
)
from django.utils.http import http_date

from audit.models import Action, AuditEntry
from audit.record import record
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot
from config.api.conditions import tag_of_copy
from config.api.errors import DocumentNotComplete, Unavailable
from config.api.request import ActiveKey, ApiRequest
from config.api.responses import REVALIDATED
from config.runtime import metrics
from documents import storage
from documents.download import nginx
from documents.download.filenames import content_disposition
from documents.download.queries import DocumentFiles, FileRow
from documents.download.ranges import ByteRange, if_range_holds, parse_range
from documents.download.stream import STREAMS, RecordedStream
from documents.models import Document
from documents.storage import StorageError


@dataclass(frozen=True)
class Download:
    """One file of a document, requested with one key."""

    document: DocumentFiles
    file_type: str
    file: FileRow
    key: ActiveKey

    @classmethod
    def choose(cls, document: DocumentFiles, requested: str | None, key: ActiveKey) -> "Download":
        """The download of the requested type of file, or of the default for the document's status.

        Raises:
            DocumentNotComplete: `signed` or `certificate` before everyone has finished.
        """
        complete = document.status == Document.Status.COMPLETED
        file_type = requested or ("signed" if complete else "original")
        if file_type != "original" and not complete:
            raise DocumentNotComplete
        return cls(document, file_type, getattr(document, file_type), key)

    @property
    def etag(self) -> str:
        """The file's strong tag: its digest, since its bytes never change."""
        return f'"{self.file.sha256}"'

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each response about this file, whole or in part."""
        digest = base64.b64encode(bytes.fromhex(self.file.sha256)).decode()
        return {
            "Accept-Ranges": "bytes",
            "Content-Disposition": content_disposition(
                self.document.id, self.document.file_name, self.file_type
            ),
            "Content-Type": "application/pdf",
            "ETag": self.etag,
            "Last-Modified": http_date(self.file.created_at.timestamp()),
            "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530: of the whole file, also with a part
            "X-Content-Type-Options": "nosniff",
            **REVALIDATED,
        }


def download_response(request: ApiRequest, download: Download) -> HttpResponseBase:
    """The file, a part of it, or 304: RFC 9110's preconditions in its order (section 13.2.2).

    Raises:
        PreconditionFailed: 412.
        RangeNotSatisfiable: 416.
        Unavailable: 503, object storage is out of reach or has no such object.
    """
    response: HttpResponseBase
    if tag_of_copy(request, download.etag, int(download.file.created_at.timestamp())):
        response = HttpResponseNotModified()
    else:
        try:
            response = send(request, download, requested_part(request, download))
        except StorageError as exc:
            raise Unavailable("object_storage", str(exc)) from exc
    for name, value in download.headers.items():
        response[name] = value
    if "X-Accel-Redirect" in response:
        nginx.rename_headers(response)
    return response


def requested_part(request: ApiRequest, download: Download) -> ByteRange | None:
    """The part to send; None for the whole file. Only GET has parts."""
    header = request.headers.get("Range")
    if header is None or request.method != "GET":
        return None
    if_range = request.headers.get("If-Range")
    if if_range is not None and not if_range_holds(
        if_range, download.etag, download.file.created_at
    ):
        return None
    return parse_range(header, download.file.size)


def send(request: ApiRequest, download: Download, part: ByteRange | None) -> HttpResponseBase:
    """The file or a part of it: from this process, or from nginx; for HEAD without a body.

    Object storage is asked first, so that an audit entry means that there was a file. The entry
    is committed before the first byte leaves.

    Raises:
        StorageError: object storage cannot send it.
    """
    file = download.file
    length = part.length if part else file.size
    response: HttpResponseBase
    if request.method == "HEAD":
        storage.check(file.object_key, file.size)
        response = HttpResponse()
    elif settings.X_ACCEL_DOWNLOADS:
        storage.check(file.object_key, file.size)
        record_download(download, part)
        return nginx.accel_response(file.object_key, part)
    else:
        response = StreamingHttpResponse(open_stream(download, part, length))
    response["Content-Length"] = str(length)
    if part:
        response.status_code = 206
        response["Content-Range"] = part.content_range
    return response


def open_stream(download: Download, part: ByteRange | None, length: int) -> RecordedStream:
    """The file's bytes, from object storage through this process.

    Raises:
        TooManyDownloads: 503, too many are in progress.
        StorageError: object storage cannot send it.
    """
    with STREAMS.begin(download.key.id), contextlib.ExitStack() as undo:
        body = storage.open_object(download.file.object_key, length, part.request if part else None)
        undo.callback(body.close)
        entry = record_download(download, part)
        undo.pop_all()
    return RecordedStream(body, length, entry)


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
