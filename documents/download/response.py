"""GET /documents/{id}/download: which file, which part of it, its headers, its audit entry."""

import base64
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from rest_framework.request import Request

from audit import record
from audit.models import AuditEntry
from config.api.errors import DocumentNotComplete, PreconditionFailed, Unavailable
from documents import storage
from documents.api.queries import DocumentFiles, FileFacts
from documents.download import nginx as handoff
from documents.download.filenames import content_disposition
from documents.download.ranges import ByteRange, if_range_holds, parse_range
from documents.download.stream import RecordedStream
from documents.models import Document


def choose_type(document: DocumentFiles, wanted: str | None) -> str:
    """The type of the file to send: the one asked for, else the default of the document's state.

    Raises:
        DocumentNotComplete: `signed` or `certificate` before everyone has finished.
    """
    complete = document.status == Document.Status.COMPLETED
    if wanted is None:
        return "signed" if complete else "original"
    if wanted != "original" and not complete:
        raise DocumentNotComplete
    return wanted


def file_of(document: DocumentFiles, file_type: str) -> FileFacts:
    """The stored file of one type; a complete document has all three (a database constraint)."""
    stored: FileFacts = getattr(document, file_type)
    return stored


def answer(request: Request, document: DocumentFiles, file_type: str) -> HttpResponseBase:
    """The file, a part of it, or 304: RFC 9110's preconditions in its order (section 13.2.2).

    Raises:
        PreconditionFailed: 412.
        RangeNotSatisfiable: 416.
        Unavailable: 503, the store is out of reach or has no such object.
    """
    stored = file_of(document, file_type)
    response = conditional_answer(request, stored)
    if response.status_code == 200:
        try:
            response = send(request, document, file_type, wanted_part(request, stored))
        except storage.StoreError as exc:
            raise Unavailable from exc
    for name, value in headers(document, file_type).items():
        response[name] = value
    if "X-Accel-Redirect" in response:
        handoff.rename_kept(response)
    return response


def etag(stored: FileFacts) -> str:
    """The file's strong tag: its digest, for its bytes never change."""
    return f'"{stored.sha256}"'


def headers(document: DocumentFiles, file_type: str) -> dict[str, str]:
    """What each answer of a file says of it, whole or in part."""
    stored = file_of(document, file_type)
    digest = base64.b64encode(bytes.fromhex(stored.sha256)).decode()
    return {
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "Content-Disposition": content_disposition(document.file_name, file_type),
        "Content-Type": "application/pdf",
        "ETag": etag(stored),
        "Last-Modified": http_date(stored.created_at.timestamp()),
        "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530: of the whole file, also with a part
        "X-Content-Type-Options": "nosniff",
    }


def conditional_answer(request: Request, stored: FileFacts) -> HttpResponseBase:
    """304 when the client has this file; else an empty 200.

    Raises:
        PreconditionFailed: 412.
    """
    response = get_conditional_response(
        request,
        etag=etag(stored),
        last_modified=int(stored.created_at.timestamp()),
        response=HttpResponse(),
    )
    if response is None or response.status_code == 412:
        raise PreconditionFailed
    response["Content-Length"] = str(stored.size)  # also of 304: what a 200 would have
    return response


def wanted_part(request: Request, stored: FileFacts) -> ByteRange | None:
    """The part to send; None for the whole file. Only GET has parts."""
    wanted = request.headers.get("Range")
    if wanted is None or request.method != "GET":
        return None
    if_range = request.headers.get("If-Range")
    if if_range is not None and not if_range_holds(if_range, etag(stored), stored.created_at):
        return None
    return parse_range(wanted, stored.size)


def send(
    request: Request, document: DocumentFiles, file_type: str, part: ByteRange | None
) -> HttpResponseBase:
    """The file or a part of it: from here, or carried by nginx; for HEAD no body.

    The store is asked first, so that an entry in the trail means there was a file; the entry is
    committed before the first byte leaves.

    Raises:
        storage.StoreError: the store cannot send it.
    """
    stored = file_of(document, file_type)
    response: HttpResponseBase
    if request.method == "HEAD":
        storage.check(stored.object_key, stored.size)
        response = HttpResponse()
    elif settings.NGINX_HANDOFF:
        storage.check(stored.object_key, stored.size)
        record_download(request, document, file_type, part)
        return handoff.answer(stored.object_key, part)
    else:
        opened = storage.open_object(stored.object_key, stored.size, part)
        try:
            entry = record_download(request, document, file_type, part)
        except BaseException:
            opened.close()
            raise
        response = StreamingHttpResponse(RecordedStream(opened, entry))
    response["Content-Length"] = str(part.length if part else stored.size)
    if part:
        response.status_code = 206
        response["Content-Range"] = part.content_range
    return response


def record_download(
    request: Request, document: DocumentFiles, file_type: str, part: ByteRange | None
) -> AuditEntry:
    """Writes the entry of a download that starts."""
    key: Any = request.auth
    return record.document_downloaded(
        key=key.facts(),
        document=record.DocumentFacts(document_id=document.id, document_title=document.title),
        file_type=file_type,
        file_sha256=file_of(document, file_type).sha256,
        byte_range=part.content_range.removeprefix("bytes ") if part else "",
    )
