"""GET /documents/{id}/download: which file, its audit entry, its bytes."""

import re
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from audit import record
from config.errors import DocumentNotComplete, Unavailable
from config.middleware import client_address
from documents import storage
from documents.models import Document, StoredFile

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def choose_type(document: Document, wanted: str | None) -> str:
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


def file_of(document: Document, file_type: str) -> StoredFile:
    """The stored file of one type; a complete document has all three (a database constraint)."""
    stored: StoredFile = getattr(document, file_type)
    return stored


def header_safe(file_name: str) -> str:
    """The name without control characters: one of them in a header is no header any more."""
    return _CONTROL.sub("_", file_name)


def answer(request: Request, document: Document, file_type: str) -> HttpResponseBase:
    """The PDF, streamed from the store; for HEAD its headers alone.

    The store is opened first, so that an entry in the trail means there was a file; the entry is
    committed before the first byte leaves.

    Raises:
        Unavailable: the store is out of reach or has no such object.
    """
    key: Any = request.auth
    stored = file_of(document, file_type)
    try:
        opened = storage.open_object(stored.object_key)
    except storage.StoreError as exc:
        raise Unavailable from exc
    if request.method == "HEAD":
        opened.close()
        response: HttpResponseBase = HttpResponse()
    else:
        try:
            record.document_downloaded(
                key=key.facts(),
                document=record.DocumentFacts(
                    document_id=document.id, document_title=document.title
                ),
                file_type=file_type,
                address=client_address(request),
                user_agent=request.headers.get("User-Agent", ""),
            )
        except BaseException:
            opened.close()
            raise
        response = StreamingHttpResponse(opened)
    response["Content-Type"] = "application/pdf"
    response["Content-Length"] = str(opened.size)
    response["Content-Disposition"] = content_disposition_header(
        True, header_safe(document.file_name)
    )
    return response
