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

from apikeys import keys
from apikeys.authentication import from_header
from apikeys.usage.buffer import BUFFER
from apikeys.usage.models import ADDRESS_LENGTH, CLIENT_LENGTH, TEXT_LENGTH, RefusedRequest
from apikeys.usage.reasons import ABOUT_DOCUMENTS, MALFORMED
from audit.snapshots import KeySnapshot
from config.api.errors import PlanRequired
from config.error_pages import is_api
from config.runtime.logs import redact_sent, request_id
from config.runtime.request_context import Notes, client_address, current_notes, network_of

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
        client = _clean(request.META.get("HTTP_USER_AGENT"), CLIENT_LENGTH)
        # HEAD sends no file. No other path of the API ends like this.
        download = status in (200, 206) and request.method == "GET"
        download = download and request.path.endswith("/download")
        BUFFER.count(key, status, now, address=address, client=client, download=download)
    if status >= 400 and is_api(request) and not request.path.startswith("/api/docs"):
        who = key.id if key else network_of(address)
        BUFFER.refuse(who, status, now, lambda: _row(request, status, now, address, notes))


def _row(
    request: HttpRequest, status: int, now: datetime, address: str, notes: Notes
) -> RefusedRequest:
    """What the reason is worded from. Of what was sent as a key, only its beginning is kept."""
    error, key = notes.error, notes.key
    cause = notes.get("cause") or (error.code if error else "")
    path = _DOCUMENT_PATH.fullmatch(request.path) if cause in ABOUT_DOCUMENTS else None
    row = RefusedRequest(
        created_at=now,
        request_id=request_id.get(),
        status=status,
        response_text=_clean(error.text if error else "", TEXT_LENGTH),
        cause=cause,
        reason=_clean(notes.get("reason"), TEXT_LENGTH),
        document_id=path and UUID(path[1]),
        address=address,
        user_agent=_clean(request.META.get("HTTP_USER_AGENT"), SENT_LENGTH),
        method=_clean(request.method, 20),
        path=_clean(escape_uri_path(request.path), SENT_LENGTH),
    )
    if key:
        row.identify(KeySnapshot.of(key))
        row.reason = key.plan if isinstance(error, PlanRequired) else row.reason
    elif raw := from_header(request.META.get("HTTP_AUTHORIZATION", "")):
        row.key_prefix = keys.beginning(raw)
        if status == 401 and not keys.loggable(raw):
            row.cause, row.reason = MALFORMED, str(len(raw))
    return row


def _clean(text: str | None, length: int) -> str:
    """What a client has sent, without secrets, and no longer than its column.

    It is cut first: then no more than that is searched for secrets, and of a key that is cut only
    its public part is left.
    """
    return redact_sent((text or "")[:length].replace("\0", ""))[:length]
