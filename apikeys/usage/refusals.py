"""Refused requests that wait to be written: a flood is counted, not stored."""

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from apikeys import keys
from apikeys.authentication import from_header
from apikeys.models import ApiKey
from apikeys.usage.buffers import ADDRESS_LENGTH, Batch, Buffer, clean, instant
from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import ABOUT_DOCUMENTS, MALFORMED, MISTYPED, deleted_keys
from audit.models import AuditEntry
from audit.snapshots import KeySnapshot
from config.api.active_key import ActiveKey
from config.api.errors import ApiError, PlanRequired
from config.runtime.logs import request_id
from config.runtime.request_context import Notes, network_of

MINUTE = 60  # seconds
ROWS_A_MINUTE = 20  # that a key or a network gets for each status
ROWS_WITHOUT_KEY = 300  # that all requests without a key get in a minute
ROWS_A_FLUSH = 500
METHOD_LENGTH = 20
SENT_LENGTH = 120  # characters that are stored of the path and the user agent
TEXT_LENGTH = 500  # the same of our texts: the reason and the response

_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DOCUMENT_PATH = re.compile(rf"/api/v1/documents/({_UUID})(?:/download)?")


class Refusals(Buffer):
    """Refused requests by their ids: some rows of each group, and how many more there were.

    A group is the refused requests of a key or a network, with one status, in one minute. A row
    without a status is written already, and only its `more` is to be added.
    """

    def __init__(self) -> None:
        super().__init__("refused", ROWS_A_FLUSH, _write)
        self._minute = 0
        self.forget_groups()

    def forget_groups(self) -> None:
        """Begins a new minute, as the clock does it."""
        self._rows: Counter[Any] = Counter()  # of each group in this minute
        self._last: dict[Any, str] = {}  # the request id of its last row
        self._without_key = 0  # rows in this minute

    def add(
        self, request: HttpRequest, status: int, address: str, notes: Notes, now: float
    ) -> None:
        """Stores or counts the refusal of a request.

        Args:
            notes: what the log has about it, with its valid key and its error.
            now: seconds since the epoch.
        """
        key: ActiveKey | None = notes.key
        known = key.id if key else None
        group = (known or network_of(address), status)
        with self.lock:
            if self._minute != (minute := int(now // MINUTE)):
                self._minute = minute
                self.forget_groups()
            # Requests without a key leave half of the buffer to the others.
            if (
                len(self) >= (self.limit if known else self.limit // 2)
                or (known is None and self._without_key >= ROWS_WITHOUT_KEY)
                or self._rows[group] >= ROWS_A_MINUTE
            ):
                if group in self._last:
                    self.rows.setdefault(self._last[group], RefusedRequest()).more += 1
                else:
                    self.dropped.inc()
                return
            self._without_key += known is None
            self._rows[group] += 1
            row = _refused(request, status, address, notes, now)
            self._last[group] = row.request_id
            self.rows[row.request_id] = row


def _refused(
    request: HttpRequest, status: int, address: str, notes: Notes, now: float
) -> RefusedRequest:
    """What the reason is worded from later. Of a key that was sent, only its hash is kept."""
    error: ApiError | None = notes.error
    key: ActiveKey | None = notes.key
    cause, reason = notes.get("cause") or (error.code if error else ""), notes.get("reason")
    if isinstance(error, PlanRequired) and key:
        reason = key.plan
    path = _DOCUMENT_PATH.fullmatch(request.path) if cause in ABOUT_DOCUMENTS else None
    row = RefusedRequest(
        created_at=instant(now),
        request_id=request_id.get(),
        status=status,
        response_text=clean(error.text if error else "", TEXT_LENGTH),
        cause=cause,
        reason=clean(reason, TEXT_LENGTH),
        document_id=path and path[1],
        address=address[:ADDRESS_LENGTH],
        user_agent=clean(request.META.get("HTTP_USER_AGENT"), SENT_LENGTH),
        method=clean(request.method, METHOD_LENGTH),
        path=clean(escape_uri_path(request.path), SENT_LENGTH),
    )
    if key:
        _identify(row, KeySnapshot.of(key))
    elif raw := from_header(request.META.get("HTTP_AUTHORIZATION", "")):
        row.key_prefix, row.digest = keys.beginning(raw), keys.digest(raw)
        if status == 401 and not keys.loggable(raw):
            row.cause, row.reason = MALFORMED, str(len(raw))
    return row


def _identify(row: RefusedRequest, key: KeySnapshot | AuditEntry) -> None:
    """Adds the key and its workspace."""
    for name in ("key_id", "key_name", "key_prefix", "workspace_id", "workspace_name"):
        setattr(row, name, getattr(key, name))


def _find_keys(rows: Collection[RefusedRequest]) -> None:
    """Adds the key that was sent, or meant, and its workspace; also a deleted key."""
    sent = [row for row in rows if row.digest and row.key_prefix]
    prefixes = {row.key_prefix for row in sent}
    found = ApiKey.objects.filter(prefix__in=prefixes).select_related("workspace")
    existing = {key.prefix: key for key in found}
    deleted = deleted_keys(prefixes - existing.keys())
    for row in sent:
        key = existing.get(row.key_prefix)
        malformed = row.cause == MALFORMED
        if key and key.digest != row.digest and row.status == 401 and not malformed:
            row.cause = MISTYPED
        if copy := key.snapshot() if key else deleted.get(row.key_prefix):
            _identify(row, copy)
        elif malformed:
            row.key_prefix = ""  # it may be anything


def _write(batch: Batch) -> None:
    new = [row for row in batch.values() if row.status]
    _find_keys(new)
    RefusedRequest.objects.bulk_create(new)
    if earlier := {id: row.more for id, row in batch.items() if not row.status}:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_MORE, [list(earlier), list(earlier.values())])


_ADD_MORE = """
    UPDATE "usage_refusedrequest" AS refused SET more = refused.more + given.more
    FROM unnest(%s::text[], %s::bigint[]) AS given (request_id, more)
    WHERE refused.request_id = given.request_id
"""

REFUSED = Refusals()
