"""Refused requests that wait to be written: a flood is counted, not stored."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
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
from config.api.errors import ApiError, PlanRequired
from config.api.request import ActiveKey
from config.runtime.logs import request_id
from config.runtime.request_context import Notes, network_of
from config.runtime.slots import TENANTS

MINUTE = 60  # seconds
ROWS_A_MINUTE = 20  # that a key or a network gets for each status
ROWS_WITHOUT_KEY = 300  # that all requests without a key get in a minute
ROWS_A_FLUSH = 500
METHOD_LENGTH = 20
SENT_LENGTH = 120  # characters that are stored of the path and the user agent
TEXT_LENGTH = 500  # the same of our texts: the reason and the response

_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_DOCUMENT_PATH = re.compile(rf"/api/v1/documents/({_UUID})(?:/download)?")


@dataclass
class Refused:
    """A refused request that has a row, or is about to get one.

    Attributes:
        columns: of the new row; none if it is written already, and only `more` is to be added.
        digest: SHA-256 of what was sent as a key, if it is not a valid one.
        more: requests like it that have no row.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    more: int = 0


@dataclass
class _Group:
    """The refused requests of a key or a network, with one status, in one minute."""

    rows: int = 0
    last: str = ""  # the request id of its last row


class Refusals(Buffer):
    """Refused requests by their ids: some rows of each group, and how many more there were."""

    def __init__(self) -> None:
        super().__init__("refused", ROWS_A_FLUSH, _write)
        self._minute = 0
        self.forget_groups()

    def forget_groups(self) -> None:
        """Begins a new minute, as the clock does it."""
        self._groups: dict[tuple[Any, int], _Group] = {}  # of this minute, each with a row
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
        # Of a known key that could not be checked, or was revoked a moment ago: its workspace.
        known = key.id if key else TENANTS.get(request.META.get("HTTP_AUTHORIZATION", ""))
        who = (known or network_of(address), status)
        with self.lock:
            if self._minute != (minute := int(now // MINUTE)):
                self._minute = minute
                self.forget_groups()
            group = self._groups.get(who)
            # Requests without a key leave half of the buffer to the others.
            if (
                len(self) >= (self.limit if known else self.limit // 2)
                or (known is None and self._without_key >= ROWS_WITHOUT_KEY)
                or (group is not None and group.rows >= ROWS_A_MINUTE)
            ):
                if group is None:
                    self.dropped.inc()
                else:
                    self.rows.setdefault(group.last, Refused()).more += 1
                return
            group = self._groups.setdefault(who, _Group())
            self._without_key += known is None
            group.rows += 1
            group.last = request_id.get()
            self.rows[group.last] = _refused(request, status, address, notes, now)


def _refused(request: HttpRequest, status: int, address: str, notes: Notes, now: float) -> Refused:
    """What the reason is worded from later. Of a key that was sent, only its hash is kept."""
    error: ApiError | None = notes.error
    key: ActiveKey | None = notes.key
    cause, reason = notes.get("cause") or (error.code if error else ""), notes.get("reason")
    if isinstance(error, PlanRequired) and key:
        reason = key.plan
    path = _DOCUMENT_PATH.fullmatch(request.path) if cause in ABOUT_DOCUMENTS else None
    columns = {
        "created_at": instant(now),
        "status": status,
        "response_text": clean(error.text if error else "", TEXT_LENGTH),
        "cause": cause,
        "reason": clean(reason, TEXT_LENGTH),
        "document_id": path and path[1],
        "address": address[:ADDRESS_LENGTH],
        "user_agent": clean(request.META.get("HTTP_USER_AGENT"), SENT_LENGTH),
        "method": clean(request.method, METHOD_LENGTH),
        "path": clean(escape_uri_path(request.path), SENT_LENGTH),
    }
    if key:
        columns |= {
            "key_id": key.id,
            "key_name": key.name,
            "key_prefix": key.prefix,
            "workspace_id": key.workspace_id,
            "workspace_name": key.workspace_name,
        }
    elif raw := from_header(request.META.get("HTTP_AUTHORIZATION", "")):
        columns["key_prefix"] = keys.beginning(raw)
        if status == 401 and not keys.loggable(raw):
            columns |= {"cause": MALFORMED, "reason": str(len(raw))}
        return Refused(columns, keys.digest(raw))
    return Refused(columns)


def _write(batch: Batch) -> None:
    new = {id: each for id, each in batch.items() if each.columns}
    _identify(new.values())
    RefusedRequest.objects.bulk_create(
        RefusedRequest(request_id=id, more=each.more, **each.columns) for id, each in new.items()
    )
    if earlier := {id: each.more for id, each in batch.items() if id not in new}:
        with connection.cursor() as cursor:
            cursor.execute(_ADD_MORE, [list(earlier), list(earlier.values())])


_ADD_MORE = """
    UPDATE "usage_refusedrequest" AS refused SET more = refused.more + given.more
    FROM unnest(%s::text[], %s::bigint[]) AS given (request_id, more)
    WHERE refused.request_id = given.request_id
"""
_COPIED = ("key_id", "key_name", "workspace_id", "workspace_name")


def _identify(refused: Iterable[Refused]) -> None:
    """Adds the key that was sent, or meant, and its workspace; also a deleted key."""
    sent = [each for each in refused if each.digest and each.columns["key_prefix"]]
    prefixes = {each.columns["key_prefix"] for each in sent}
    found = ApiKey.objects.filter(prefix__in=prefixes).select_related("workspace")
    existing = {key.prefix: key for key in found if prefixes}
    deleted = deleted_keys(prefixes - existing.keys())
    for each in sent:
        prefix = each.columns["key_prefix"]
        key = existing.get(prefix)
        malformed = each.columns["cause"] == MALFORMED
        if key and key.digest != each.digest and each.columns["status"] == 401 and not malformed:
            each.columns["cause"] = MISTYPED
        if copy := key.snapshot() if key else deleted.get(prefix):
            each.columns |= {name: getattr(copy, name) for name in _COPIED}
        elif malformed:
            each.columns["key_prefix"] = ""  # it may be anything


REFUSED = Refusals()
