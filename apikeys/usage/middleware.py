"""Counts requests in memory of limited size; `apikeys.usage.flusher` writes what was counted.

Counting takes a few microseconds. It sends no query, since the client waits meanwhile.
"""

import logging
from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from threading import Lock
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.encoding import escape_uri_path

from apikeys.usage.models import TEXT_LENGTH, KeyUsage, RefusedRequest
from audit.snapshots import KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import ApiError
from config.api.parameters import without_names
from config.request.context import Notes, network_of
from config.request.redaction import redact_sent

logger = logging.getLogger(__name__)

ROWS_A_MINUTE = 20  # of refused requests, of a key or a network
ROWS_OF_A_STATUS = 8  # of these, or twice as many with new reasons: a flood leaves room for others
ROWS_OF_A_REASON = 3  # of these: a flood is a few rows, whatever it asks for
NETWORKS = 250  # that have rows, in each batch; of minutes of keys, 20 times as many
SENT_LENGTH = 120  # of a refused request's path with its query, and of its user agent

# By key or network and minute, then by what else is equal.
Rows = dict[tuple[UUID | str, datetime], dict[Hashable, RefusedRequest]]


class Buffer:
    def __init__(self) -> None:
        self.lock = Lock()
        self.uses: dict[tuple[UUID, date], KeyUsage] = {}
        self.refused: Rows = {}

    def take(self) -> tuple[list[KeyUsage], list[RefusedRequest]]:
        with self.lock:
            uses, refused = self.uses, self.refused
            self.uses, self.refused = {}, {}
        return list(uses.values()), [row for rows in refused.values() for row in rows.values()]

    def count(self, key: ActiveKey, now: datetime, notes: Notes, *, ok: bool, file: bool) -> None:
        """Counts a request of a key. If it was refused, `flusher.use_of` counts it instead."""
        with self.lock:
            use = self.uses.get((key.id, now.date()))
            if use is None:
                use = KeyUsage(key_id=key.id, day=now.date(), workspace_id=key.workspace_id)
                self.uses[key.id, use.day] = use
            use.ok += ok
            use.hours[now.hour] += ok
            use.downloads += file
            use.busiest = max(use.busiest, notes.minute_count)
            use.last_at, use.address, use.user_agent = now, notes.client_address, notes.user_agent

    def refuse(self, row: RefusedRequest) -> None:
        """Of a flood from many networks, or while nothing can be written, the log has the rest."""
        with self.lock:
            most = 20 * NETWORKS if row.key_id else NETWORKS
            if row.subject in self.refused or len(self.refused) < most:
                fold(row, self.refused)


def fold(row: RefusedRequest, into: Rows) -> RefusedRequest:
    """Adds a row to the one that is like it, or else as another one, and returns that one.

    Without room, the last one counts it: if possible, one of the same status and reason.
    """
    rows = into.setdefault(row.subject, {})
    # The digest tells apart what has the same first characters.
    path = "" if row.status == 503 else row.path  # an outage is one thing, whatever was asked for
    what = (row.status, row.reason, path, row.key_prefix, row.sent_digest)
    if found := rows.get(what):
        found.others += row.others if row.path == found.path else row.requests
    else:
        alike = [each for each in rows.values() if each.status == row.status]
        likest = [each for each in alike if each.reason == row.reason]
        # What was sent as a key has no reason yet: it may be one that has ended.
        has_room = len(likest) < ROWS_OF_A_REASON or row.sent_digest
        most = ROWS_OF_A_STATUS if likest else 2 * ROWS_OF_A_STATUS
        if has_room and len(alike) < most and len(rows) < ROWS_A_MINUTE:
            return rows.setdefault(what, row)
        found = (likest or alike or [*rows.values()])[-1]
        found.others += row.requests
    if found.reason == row.reason:  # an id leads to its reason
        found.request_ids = [*found.request_ids, *row.request_ids]
        del found.request_ids[60:-1]  # the first ones and the last stay
    found.requests += row.requests
    found.created_at = min(found.created_at, row.created_at)
    found.last_at = max(found.last_at, row.last_at)
    return found


BUFFER = Buffer()


def count_usage(get_response: Any) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: counts the requests of known keys, and keeps refused ones for support.

    It is the outermost, so that it sees the response to every request.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        try:
            notes: Notes = request.notes  # type: ignore[attr-defined]
            now = datetime.now(UTC)
            if notes.key:
                # Only files are streamed, or sent by nginx.
                file = response.streaming or "X-Accel-Redirect" in response
                BUFFER.count(notes.key, now, notes, ok=response.status_code < 400, file=file)
            if notes.error and "Error-Code" in response:  # of the API, not of a page or of /readyz
                BUFFER.refuse(_row(request, now, notes, notes.error))
        except Exception:  # it must fail no request
            logger.exception("A request is not counted")
        return response

    return middleware


def _row(request: HttpRequest, now: datetime, notes: Notes, error: ApiError) -> RefusedRequest:
    """What is known without a query; of what was sent as a key, only the public part is kept."""
    query = without_names(request) if error.status_code in (400, 404) else ""  # it may say why
    row = RefusedRequest(
        created_at=now,
        last_at=now,
        request_ids=[UUID(notes.request_id)],
        status=error.status_code,
        response_text=redact_sent(str(error.detail), TEXT_LENGTH),
        reason=redact_sent(notes.reason, TEXT_LENGTH),
        key_prefix=notes.key_prefix or "",
        address=notes.client_address if notes.key else network_of(notes.client_address),
        user_agent=redact_sent(notes.user_agent, SENT_LENGTH),
        method=redact_sent(request.method, 20),
        path=redact_sent(escape_uri_path(request.path) + query, SENT_LENGTH),
    )
    row.sent_digest = "" if notes.key else notes.key_digest
    if notes.key:
        vars(row).update(vars(KeySnapshot.of(notes.key)))
    return row
