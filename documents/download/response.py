"""The response to a download: the file or a part of it, from nginx or from this process."""

import contextlib

from django.conf import settings
from django.http import (
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
    StreamingHttpResponse,
)

from config.api.errors import Unavailable
from config.api.request import ApiRequest
from config.api.responses import tag_of_copy
from documents import storage
from documents.download import nginx
from documents.download.file_choice import Download
from documents.download.ranges import ByteRange, if_range_holds, parse_range
from documents.download.recording import record_download
from documents.download.stream import STREAMS, RecordedStream
from documents.storage import StorageError


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
