"""Counts requests in memory of limited size; `apikeys.usage.flusher` writes what was counted.

Counting takes a few microseconds. It sends no query, since the client waits meanwhile.
"""

import logging
from collections.abc import Callable
from datetime import date, datetime
from threading import Lock
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.encoding import escape_uri_path

from apikeys.usage.folding import Rows, fold
from apikeys.usage.models import (
    ADDRESS_LENGTH,
    SENT_LENGTH,
    TEXT_LENGTH,
    KeyUsage,
    RefusedRequest,
    clean,
)
from audit.snapshots import KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import ApiError
from config.request.context import Notes, network_of

logger = logging.getLogger(__name__)

ROWS = 500  # of refused requests; a key has its first one in any case

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class Buffer:
    def __init__(self) -> None:
        self.lock = Lock()
        self.uses: dict[tuple[UUID, date], KeyUsage] = {}  # only what was not refused
        self.refused: Rows = {}

    def __bool__(self) -> bool:
        return bool(self.uses or self.refused)

    def take(self) -> tuple[list[KeyUsage], list[RefusedRequest]]:
        with self.lock:
            uses, refused = self.uses, self.refused
            self.uses, self.refused = {}, {}
        return list(uses.values()), [row for rows in refused.values() for row in rows.values()]

    def count(
        self, key: ActiveKey, now: datetime, address: str, client: str, download: bool
    ) -> None:
        with self.lock:
            use = self.uses.get((key.id, now.date()))
            if use is None:
                use = KeyUsage(key_id=key.id, day=now.date(), workspace_id=key.workspace_id)
                self.uses[key.id, use.day] = use
            use.ok += 1
            use.downloads += download
            use.last_at, use.address, use.user_agent = now, address, client

    def refuse(self, row: RefusedRequest) -> None:
        """Requests without a key leave half of the room to those with one."""
        with self.lock:
            fold(row, self.refused, ROWS if row.key_id else ROWS // 2)


BUFFER = Buffer()


def count_usage(get_response: GetResponse) -> GetResponse:
    """Middleware: counts the requests of known keys, and keeps refused ones for support.

    It is the outermost, so that it sees the response to every request.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        try:
            _count(request, response)
        except Exception:  # it must fail no request
            logger.exception("A request is not counted")
        return response

    return middleware


def _count(request: HttpRequest, response: HttpResponseBase) -> None:
    notes: Notes = request.notes  # type: ignore[attr-defined]
    status, error = response.status_code, notes.error
    now, address = timezone.now(), notes.client_address[:ADDRESS_LENGTH]
    if error and "Error-Code" in response:  # an error of the API, not of a page or of /readyz
        BUFFER.refuse(_row(request, status, now, address, notes, error))
    elif notes.key and status < 400:
        # Only files are streamed, or sent by nginx.
        download = response.streaming or "X-Accel-Redirect" in response
        client = request.META.get("HTTP_USER_AGENT", "")
        BUFFER.count(notes.key, now, address, client, download)


def _row(
    request: HttpRequest, status: int, now: datetime, address: str, notes: Notes, error: ApiError
) -> RefusedRequest:
    """What is known without a query; of what was sent as a key, only the public part is kept."""
    row = RefusedRequest(
        created_at=now,
        last_at=now,
        request_ids=[UUID(notes.request_id)],
        status=status,
        response_text=clean(str(error.detail), TEXT_LENGTH),
        cause=error.cause or error.default_code,
        reason=clean(notes.reason, TEXT_LENGTH),
        key_prefix=notes.key_prefix or "",
        address=address if notes.key else network_of(address),
        user_agent=clean(request.META.get("HTTP_USER_AGENT"), SENT_LENGTH),
        method=clean(request.method, 20),
        path=clean(escape_uri_path(request.path), SENT_LENGTH),
    )
    row.sent_digest = notes.key_digest
    if notes.key:
        row.identify(KeySnapshot.of(notes.key))
    return row
