"""What each request adds to the buffer: a few microseconds, and no query."""

import logging
import re
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.encoding import escape_uri_path

from apikeys.authentication import from_header
from apikeys.keys import digest
from apikeys.usage.buffer import BUFFER
from apikeys.usage.models import ADDRESS_LENGTH, TEXT_LENGTH, RefusedRequest, clean
from audit.snapshots import KeySnapshot
from config.request.context import Notes, client_address, current_notes, network_of
from config.request.error_pages import is_api
from config.request.logs import request_id

logger = logging.getLogger(__name__)

SENT_LENGTH = 120  # characters that are stored of a refused request's path and user agent
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DOCUMENT_PATH = re.compile(rf"/api/v1/documents/({_UUID})(?:/download)?")

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def count_usage(get_response: GetResponse) -> GetResponse:
    """Middleware: counts the requests of known keys, and keeps refused ones for support."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        try:
            _count(request, response.status_code, current_notes())
        except Exception:  # it must fail no request
            logger.exception("A request is not counted")
        return response

    return middleware


def _count(request: HttpRequest, status: int, notes: Notes) -> None:
    key = notes.key
    if key is None and status < 400:
        return
    now, address = timezone.now(), client_address(request)[:ADDRESS_LENGTH]
    if key is not None:
        # HEAD sends no file. No other path of the API ends like this.
        download = status in (200, 206) and request.method == "GET"
        download = download and request.path.endswith("/download")
        client = request.META.get("HTTP_USER_AGENT", "")
        BUFFER.count(key, status, now, address, client, download)
    if status >= 400 and is_api(request) and not request.path.startswith("/api/docs"):
        who = key.id if key else network_of(address)
        BUFFER.refuse(who, status, now, lambda: _row(request, status, now, address, notes))


def _row(
    request: HttpRequest, status: int, now: datetime, address: str, notes: Notes
) -> RefusedRequest:
    """What is known without a query; of what was sent as a key, only the public part is kept."""
    error, reason = notes.error, notes.get("reason")
    document = _DOCUMENT_PATH.fullmatch(request.path)
    row = RefusedRequest(
        created_at=now,
        request_id=request_id.get(),
        status=status,
        response_text=clean(error.text if error else "", TEXT_LENGTH),
        cause=notes.get("cause") or (error.code if error else ""),
        reason="" if error and reason == error.text else clean(reason, TEXT_LENGTH),
        key_prefix=notes.get("key_prefix") or "",
        document_id=document and UUID(document[1]),
        address=address,
        user_agent=clean(request.META.get("HTTP_USER_AGENT"), SENT_LENGTH),
        method=clean(request.method, 20),
        path=clean(escape_uri_path(request.path), SENT_LENGTH),
    )
    if notes.key:
        row.identify(KeySnapshot.of(notes.key))
    elif status == 401 and (raw := from_header(request.META.get("HTTP_AUTHORIZATION", ""))):
        row.sent_digest = digest(raw)
        if not row.key_prefix:
            row.reason = (
                f"what was sent does not have the form of a key: it has {len(raw)} characters"
            )
    return row
