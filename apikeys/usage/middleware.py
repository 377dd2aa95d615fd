"""Counts requests in memory of limited size; `apikeys.usage.flusher` writes what was counted.

Counting takes a few microseconds. It sends no query, since the client waits meanwhile.
"""

import logging
from collections import Counter
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
from apikeys.usage.models import ADDRESS_LENGTH, SENT_LENGTH, TEXT_LENGTH, RefusedRequest, clean
from audit.snapshots import KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import ApiError
from config.request.context import Notes, network_of

logger = logging.getLogger(__name__)

ROWS_A_MINUTE = 60  # refused requests with one status that have a row, for each key or network
ROWS = 500  # refused requests of a batch that have a row
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
    refused: list[RefusedRequest] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)  # by the request id of a row


class Buffer:
    def __init__(self) -> None:
        self.lock = Lock()
        self.batch = Batch()
        self.minute: datetime | None = None
        # The rows of this minute: key or network, and status → request ids.
        self.ids: dict[tuple[UUID | str, int], list[str]] = {}

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

    def refuse(
        self, who: UUID | str, status: int, now: datetime, make: Callable[[], RefusedRequest]
    ) -> None:
        """Keeps a refused request, or counts it on the last row like it.

        Requests without a key, of a network, leave half of the room to those of a key's id.
        """
        minute = now.replace(second=0, microsecond=0)
        room = ROWS if isinstance(who, UUID) else ROWS // 2
        with self.lock:
            if self.minute != minute:
                self.minute, self.ids = minute, {}
            ids = self.ids.get((who, status), [])
            if len(ids) < ROWS_A_MINUTE and len(self.batch.refused) < room:
                row = make()
                self.batch.refused.append(row)
                self.ids[who, status] = [*ids, row.request_id]
            elif ids:  # without a row like it, only the log has the request
                self.batch.more[ids[-1]] += 1


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
        who = key.id if key else network_of(address)
        BUFFER.refuse(who, status, now, lambda: _row(request, status, now, address, notes, error))


def _row(
    request: HttpRequest, status: int, now: datetime, address: str, notes: Notes, error: ApiError
) -> RefusedRequest:
    """What is known without a query; of what was sent as a key, only the public part is kept."""
    row = RefusedRequest(
        created_at=now,
        request_id=notes.request_id,
        status=status,
        response_text=clean(str(error.detail), TEXT_LENGTH),
        cause=error.cause or error.default_code,
        reason="" if notes.reason == str(error.detail) else clean(notes.reason, TEXT_LENGTH),
        key_prefix=notes.key_prefix or "",
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
