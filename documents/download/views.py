"""GET /documents/{id}/download: the file or a part of it, from nginx or from this process.

nginx gets an X-Accel redirect to a short-lived signed URL. `deploy/downloads.conf` is the other
half: it makes a request to object storage of it, and adds this response's headers. Neither the
client nor a log sees the URL.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import FileResponse, HttpResponse, HttpResponseBase, HttpResponseNotModified
from rest_framework.request import Request

from audit.models import Action
from audit.record import record
from audit.snapshots import FileSnapshot, KeySnapshot
from config.api.errors import FileArchived, Unavailable
from config.api.parameters import one_of
from config.api.responses import tag_of_copy
from config.api.viewsets import ApiViewSet
from config.request import metrics
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.download.files import Download
from documents.download.ranges import ByteRange, if_range_holds, parse_range
from documents.s3 import Archived, StorageError

# nginx copies these headers from the redirect, so that a 503 of object storage would have them too.
# They get other names, which deploy/downloads.conf changes back for the file only.
RENAMED = ("Accept-Ranges", "Cache-Control", "Content-Disposition")
PREFIX = "/_storage/"  # nginx's internal location
URL_SECONDS = 30  # how long the signed URL can be used to start a transfer


class DownloadViewSet(ApiViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        requested = one_of(request.query_params, "type", FILE_TYPES)
        return download_response(request, Download.choose(id, requested, self.key))


def download_response(request: Request, download: Download) -> HttpResponseBase:
    """The file, a part of it, or 304: RFC 9110's preconditions in its order (section 13.2.2).

    Raises:
        PreconditionFailed: 412.
        RangeNotSatisfiable: 416.
        FileArchived: 409.
        Unavailable: 503, object storage is out of reach or has no such object.
    """
    response: HttpResponseBase
    if tag_of_copy(request, download.etag, int(download.file.created_at.timestamp())):
        response = HttpResponseNotModified()
    else:
        try:
            response = send(request, download, requested_part(request, download))
        except Archived as exc:
            raise FileArchived(str(exc)) from exc
        except StorageError as exc:
            raise Unavailable("object_storage", str(exc)) from exc
    from_nginx = "X-Accel-Redirect" in response
    for name, value in download.headers.items():
        response[f"X-File-{name}" if from_nginx and name in RENAMED else name] = value
    if from_nginx:
        del response["Content-Type"]  # nginx would copy it too; object storage has the file's
    return response


def requested_part(request: Request, download: Download) -> ByteRange | None:
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


def send(request: Request, download: Download, part: ByteRange | None) -> HttpResponseBase:
    """The file or a part of it: from this process, or from nginx; for HEAD without a body.

    Object storage is asked first, so that an audit entry means that there was a file. The entry
    is committed before the first byte leaves.

    Raises:
        StorageError: object storage cannot send it.
    """
    key, size = download.file.object_key, download.file.size
    length = part.length if part else size
    response: HttpResponseBase
    if request.method == "HEAD":
        storage.check(key, size)
        response = HttpResponse()
    elif settings.X_ACCEL_DOWNLOADS:
        storage.check(key, size)
        record_download(download, part)
        return accel_response(key, part)
    else:
        body = storage.open_object(key, length, part.request if part else None)
        try:
            record_download(download, part)
        except BaseException:
            body.close()
            raise
        response = Body(body)
    response["Content-Length"] = str(length)
    if part:
        response.status_code = 206
        response["Content-Range"] = part.content_range
    return response


class Body(FileResponse):
    """An object's bytes on their way through this process.

    If object storage breaks off, the iteration raises and the server closes the connection, so that
    a short body never looks complete.
    """

    block_size = storage.CHUNK_SIZE


def accel_response(key: str, part: ByteRange | None) -> HttpResponse:
    """A response without a body; nginx sends the object or a part of it instead."""
    url = urlsplit(storage.signed_url(key, URL_SECONDS))
    response = HttpResponse()
    response["X-Accel-Redirect"] = f"{PREFIX}{url.netloc}{url.path}?{url.query}"
    if part:
        response["X-Storage-Range"] = part.request
    return response


def record_download(download: Download, part: ByteRange | None) -> None:
    """Writes the audit entry of a download, and counts it."""
    record(
        Action.DOCUMENT_DOWNLOADED,
        key=KeySnapshot.of(download.key),
        document=download.document.snapshot(),
        file=FileSnapshot(
            file_type=download.file_type,
            file_sha256=download.file.sha256,
            byte_range=part.content_range.removeprefix("bytes ") if part else "",
        ),
    )
    metrics.DOWNLOADS_STARTED.labels(download.file_type).inc()
