"""Counts requests in memory of limited size; `apikeys.usage.flusher` writes what was counted.

Counting takes a few microseconds. It sends no query, since the client waits meanwhile.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from threading import Lock
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.encoding import escape_uri_path

from apikeys.authentication import from_header
from apikeys.keys import digest
from apikeys.usage.folding import Rows, fold
from apikeys.usage.models import ADDRESS_LENGTH, SENT_LENGTH, TEXT_LENGTH, RefusedRequest, clean
from audit.snapshots import KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import ApiError
from config.request.context import Notes, network_of

logger = logging.getLogger(__name__)

ROWS = 500  # of refused requests in a batch
USES = 20_000  # uses of a batch

GetResponse = Callable[[HttpRequest], HttpResponseBase]


@dataclass
class Use:
    """The requests of a key on a day (UTC) from an address. The flusher's SQL has these names."""

    key_id: UUID
    day: date
    address: str  # "" if it is not known, or there are too many
    workspace_id: UUID
    at: datetime  # of the last request, as is the client
    client: str = ""
    ok: int = 0
    errors: int = 0
    limited: int = 0
    downloads: int = 0


@dataclass
class Batch:
    uses: dict[tuple[UUID, date, str], Use] = field(default_factory=dict)
    refused: Rows = field(default_factory=dict)


class Buffer:
    def __init__(self) -> None:
        self.lock = Lock()
        self.batch = Batch()

    def take(self) -> Batch:
        with self.lock:
            batch, self.batch = self.batch, Batch()
        return batch

    def count(
        self, key: ActiveKey, status: int, now: datetime, address: str, client: str, download: bool
    ) -> None:
        day = now.date()
        with self.lock:
            uses = self.batch.uses
            if len(uses) >= USES and (key.id, day, address) not in uses:
                address = ""
            use = uses.get((key.id, day, address))
            if use is None:
                use = Use(key.id, day, address, key.workspace_id, now)
                uses[key.id, day, address] = use
            use.at, use.client = now, client[:TEXT_LENGTH]
            if status == 429:
                use.limited += 1
            elif status >= 400:
                use.errors += 1
            else:
                use.ok += 1
            use.downloads += download

    def refuse(self, row: RefusedRequest) -> None:
        """Requests without a key leave half of the room to those with one."""
        with self.lock:
            fold(row, self.batch.refused, ROWS if row.key_id else ROWS // 2)


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
    key, status = notes.key, response.status_code
    if key is None and status < 400:
        return
    now, address = timezone.now(), notes.client_address[:ADDRESS_LENGTH]
    if key is not None:
        # Only files are streamed, or sent by nginx.
        download = response.streaming or "X-Accel-Redirect" in response
        client = request.META.get("HTTP_USER_AGENT", "")
        BUFFER.count(key, status, now, address, client, download)
    error = notes.error
    if error and "Error-Code" in response:  # an error of the API, not of a page or of /readyz
        BUFFER.refuse(_row(request, status, now, address, notes, error))


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
    if notes.key:
        row.identify(KeySnapshot.of(notes.key))
    elif status == 401 and (raw := from_header(request.META.get("HTTP_AUTHORIZATION", ""))):
        if row.key_prefix:
            row.sent_digest = digest(raw)
        else:
            row.reason = (
                f"what was sent does not have the form of a key: it has {len(raw)} characters"
            )
    return row
