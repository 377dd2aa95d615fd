"""GET /documents/{id}/download: the file or a part of it, from nginx or from this process.

nginx gets an X-Accel redirect to a short-lived signed URL. It requests the file with that URL, and
adds this response's headers (`deploy/downloads.conf`). Neither the client nor a log sees the URL.
"""

import base64
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from botocore.exceptions import ClientError
from django.conf import settings
from django.http import FileResponse, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.utils.http import http_date
from rest_framework.request import Request

from audit.models import Action
from audit.record import record
from audit.snapshots import DocumentSnapshot, FileSnapshot, KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import DocumentNotComplete, DocumentNotFound, FileArchived, Unavailable
from config.api.parameters import one_of
from config.api.responses import REVALIDATED, tag_of_copy
from config.api.viewsets import ApiViewSet
from config.connections import fetch
from documents import storage
from documents.api.documents import VISIBLE, document_id
from documents.download.filenames import content_disposition
from documents.download.ranges import ByteRange, if_range_holds, parse_range
from documents.models import FILE_TYPES, DocumentStatus

# nginx copies these headers from the redirect, so that a 503 of object storage would have them too.
# They get other names, which deploy/downloads.conf changes back for the file only.
RENAMED = ("Accept-Ranges", "Cache-Control", "Content-Disposition")
PREFIX = "/_storage/"  # nginx's internal location
URL_SECONDS = 30  # how long the signed URL can be used to start a transfer

# A row for each file that the document has.
_FILES = f"""
    SELECT document.id, document.title, document.status, document.file_name,
        chosen.type, file.object_key, file.size, file.sha256, file.created_at
    FROM "documents_document" AS document
    CROSS JOIN LATERAL (VALUES
        ('original', document.original_id),
        ('signed', document.signed_id),
        ('certificate', document.certificate_id)
    ) AS chosen (type, file_id)
    JOIN "documents_storedfile" AS file ON file.id = chosen.file_id
    WHERE {VISIBLE} AND document.id = %s
"""  # noqa: S608 - made of constants


class File(NamedTuple):
    document_id: UUID
    document_title: str
    document_status: str
    document_file_name: str
    type: str
    object_key: str
    size: int  # bytes
    sha256: str  # hex digits
    created_at: datetime

    @property
    def etag(self) -> str:
        """The file's strong tag: its digest, since its bytes never change."""
        return f'"{self.sha256}"'


class DownloadViewSet(ApiViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Preconditions are in RFC 9110's order (section 13.2.2)."""
        file_type = one_of(request.query_params, "type", FILE_TYPES)
        file = choose(self.key.workspace_id, id, file_type)
        # Nobody compresses a PDF on its way, so the tag of a client's copy is never weak.
        if tag_of_copy(request, file.etag, int(file.created_at.timestamp())):
            return with_headers(HttpResponseNotModified(), file)
        part = requested_part(request, file)
        return with_headers(send(request, file, part, self.key), file)


def choose(workspace_id: UUID, id: str, file_type: str | None) -> File:
    """The file of this type, or of the default for the document's status.

    Raises DocumentNotFound, or DocumentNotComplete for `signed` or `certificate` before the end.
    """
    rows: list[File] = fetch(_FILES, (workspace_id, document_id(id)), File)
    if not rows:
        raise DocumentNotFound
    is_complete = rows[0].document_status == DocumentStatus.COMPLETED
    chosen = file_type or ("signed" if is_complete else "original")
    if chosen != "original" and not is_complete:
        raise DocumentNotComplete
    return next(file for file in rows if file.type == chosen)


def requested_part(request: Request, file: File) -> ByteRange | None:
    """The part to send; None for the whole file. Only GET has parts.

    Raises RangeNotSatisfiable (416).
    """
    header = request.headers.get("Range")
    if header is None or request.method != "GET":
        return None
    if_range = request.headers.get("If-Range")
    if if_range is not None and not if_range_holds(if_range, file.etag, file.created_at):
        return None
    return parse_range(header, file.size)


def send(request: Request, file: File, part: ByteRange | None, key: ActiveKey) -> HttpResponseBase:
    """The file or a part of it, from nginx or from this process; for HEAD without a body.

    Object storage is asked first, so that an audit entry means that there was a file. The entry
    is committed before the first byte leaves.

    Raises:
        FileArchived: 409.
        Unavailable: 503, object storage is out of reach or has no such object.
    """
    try:
        storage.require(file.object_key, file.size)
        if request.method == "HEAD":
            return HttpResponse(headers={"Content-Length": str(file.size)})
        if settings.X_ACCEL_DOWNLOADS:
            return from_nginx(file, part, key)
        return from_here(file, part, key)
    except storage.Archived as exc:
        raise FileArchived(reason=str(exc)) from exc
    except storage.OutOfReach as exc:
        # The first line is the same for every object: an outage is one thing.
        responded = isinstance(exc.__cause__, ClientError)
        how = " responded with an error" if responded else " was out of reach"
        reason = f"object storage{how}\n{exc}"
        raise Unavailable(cause="object_storage", reason=reason) from exc
    except storage.StorageError as exc:
        raise Unavailable(cause="object_storage", reason=f"object storage: {exc}") from exc


def from_nginx(file: File, part: ByteRange | None, key: ActiveKey) -> HttpResponse:
    """A response without a body; nginx sends the object or a part of it instead."""
    url = urlsplit(storage.signed_url(file.object_key, URL_SECONDS))  # which may fail
    record_download(file, part, key)
    response = HttpResponse()
    response["X-Accel-Redirect"] = f"{PREFIX}{url.netloc}{url.path}?{url.query}"
    if part:
        response["X-Storage-Range"] = part.range_header
    return response


def from_here(file: File, part: ByteRange | None, key: ActiveKey) -> FileResponse:
    length = part.length if part else file.size
    body = storage.open_object(file.object_key, length, part.range_header if part else None)
    try:
        record_download(file, part, key)
    except BaseException:
        body.close()
        raise
    # If object storage breaks off, the iteration raises and the server closes the connection, so
    # that a short body never looks complete.
    response = FileResponse(body)
    response.block_size = storage.CHUNK_SIZE
    response["Content-Length"] = str(length)
    if part:
        response.status_code = 206
        response["Content-Range"] = f"bytes {part}"
    return response


def record_download(file: File, part: ByteRange | None, key: ActiveKey) -> None:
    document = DocumentSnapshot(document_id=file.document_id, document_title=file.document_title)
    byte_range = str(part) if part else ""
    snapshot = FileSnapshot(file_type=file.type, file_sha256=file.sha256, byte_range=byte_range)
    record(Action.DOCUMENT_DOWNLOADED, key=KeySnapshot.of(key), document=document, file=snapshot)


def with_headers(response: HttpResponseBase, file: File) -> HttpResponseBase:
    """Adds what each response about this file has, whole or in part."""
    digest = base64.b64encode(bytes.fromhex(file.sha256)).decode()
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": content_disposition(
            file.document_id, file.document_file_name, file.type
        ),
        "Content-Type": "application/pdf",
        "ETag": file.etag,
        "Last-Modified": http_date(file.created_at.timestamp()),
        "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530: of the whole file, also with a part
        "X-Content-Type-Options": "nosniff",
        **REVALIDATED,
    }
    is_redirect = "X-Accel-Redirect" in response
    for name, value in headers.items():
        is_renamed = is_redirect and name in RENAMED
        response[f"X-File-{name}" if is_renamed else name] = value
    if is_redirect:
        del response["Content-Type"]  # nginx would copy it too; object storage has the file's
    return response
