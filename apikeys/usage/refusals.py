"""Refused requests that wait to be written: a flood is counted, not stored."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.http import HttpRequest

from apikeys import keys
from apikeys.usage import reasons
from apikeys.usage.buffers import ADDRESS_LENGTH, Buffer, clean, instant
from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import Refusal
from config.api.errors import ApiError
from config.api.request import ActiveKey
from config.listeners import Facts
from config.logs import request_id
from config.request_context import network_of
from config.slots import tenant_of

MINUTE = 60  # seconds
ROWS_A_MINUTE = 20  # that a key or a network gets for each status
ROWS_WITHOUT_KEY = 300  # that all requests without a key get in a minute
ROWS_A_FLUSH = 500
METHOD_LENGTH = 20
SENT_LENGTH = 120  # characters that are stored of the path and the user agent
TEXT_LENGTH = 500  # the same of our texts: the reason and the response


@dataclass
class _Group:
    """The refused requests of a key or a network, with one status, in one minute."""

    rows: int = 0
    last: str = ""  # the request id of its last row


@dataclass
class Batch:
    """What is written at once.

    Attributes:
        more: requests without a row, by the request id of their group's last row.
        rows: made of `refusals` when the reasons are known.
    """

    refusals: list[Refusal] = field(default_factory=list)
    more: Counter[str] = field(default_factory=Counter)
    rows: list[RefusedRequest] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.refusals or self.more)


class Refusals(Buffer):
    """Refused requests: some rows of each group, and how many more there were."""

    kind = "refused"
    limit = ROWS_A_FLUSH

    def __init__(self) -> None:
        super().__init__()
        self._batch = Batch()
        self._minute = 0
        self._groups: dict[tuple[Any, int], _Group] = {}  # of this minute, each with a row
        self._without_key = 0  # rows in this minute

    def __len__(self) -> int:
        return len(self._batch.refusals)

    def add(self, request: HttpRequest, fields: Facts, facts: Facts, now: float) -> None:
        """Stores or counts the refusal of a request.

        Args:
            now: seconds since the epoch.
        """
        key: ActiveKey | None = facts.get("key")
        # Of a known key that could not be checked, or was revoked a moment ago: its workspace.
        known = key.id if key else tenant_of(request.META.get("HTTP_AUTHORIZATION", ""))
        who = (known or network_of(fields["client_address"]), fields["status"])
        with self.lock:
            minute = int(now // MINUTE)
            if minute != self._minute:
                self._minute = minute
                self.forget_groups()
            group = self._groups.get(who)
            if group is not None and group.rows >= ROWS_A_MINUTE:
                self._batch.more[group.last] += 1
                return
            # Requests without a key leave half of the buffer to the others.
            if len(self._batch.refusals) >= (self.limit if known else self.limit // 2) or (
                known is None and self._without_key >= ROWS_WITHOUT_KEY
            ):
                if group is None:
                    self.dropped += 1
                else:
                    self._batch.more[group.last] += 1
                return
            if group is None:
                group = self._groups[who] = _Group()
            self._without_key += known is None
            group.rows += 1
            group.last = request_id.get()
            self._batch.refusals.append(_refusal(request, fields, facts, now))

    def forget_groups(self) -> None:
        """Begins a new minute, as the clock does it."""
        self._groups = {}
        self._without_key = 0

    def take(self) -> Batch:
        with self.lock:
            batch, self._batch = self._batch, Batch()
        return batch

    def prepare(self, batch: Batch) -> None:
        batch.rows = [
            _row(refusal, reason, batch.more[refusal.request_id])
            for refusal, reason in zip(batch.refusals, reasons.explain(batch.refusals), strict=True)
        ]

    def write(self, batch: Batch) -> None:
        RefusedRequest.objects.bulk_create(batch.rows)
        new = {refusal.request_id for refusal in batch.refusals}
        earlier = {id: more for id, more in batch.more.items() if id not in new}
        if earlier:
            with connection.cursor() as cursor:
                cursor.execute(_ADD_MORE, [list(earlier), list(earlier.values())])


_ADD_MORE = """
    UPDATE "usage_refusedrequest" AS refused SET more = refused.more + given.more
    FROM unnest(%s::text[], %s::bigint[]) AS given (request_id, more)
    WHERE refused.request_id = given.request_id
"""


def _refusal(request: HttpRequest, fields: Facts, facts: Facts, now: float) -> Refusal:
    """What the reason is found from later. Of the key that was sent, only its hash is kept."""
    error: ApiError | None = facts.get("error")
    key: ActiveKey | None = facts.get("key")
    raw = None if key else keys.from_header(request.META.get("HTTP_AUTHORIZATION", ""))
    return Refusal(
        at=now,
        request_id=request_id.get(),
        status=fields["status"],
        error=type(error).__name__,
        response_text=error.text if error else "",
        logged_reason=fields["reason"] or "",
        cause=fields.get("cause") or "",
        key=key,
        prefix=(keys.loggable(raw) or "") if raw else "",
        digest=keys.digest(raw) if raw else "",
        address=fields["client_address"],
        user_agent=clean(fields["user_agent"], SENT_LENGTH),
        method=clean(fields["method"], METHOD_LENGTH),
        path=clean(fields["path"], SENT_LENGTH),
    )


def _row(refusal: Refusal, reason: reasons.Reason, more: int) -> RefusedRequest:
    return RefusedRequest(
        created_at=instant(refusal.at),
        request_id=refusal.request_id,
        status=refusal.status,
        response_text=clean(refusal.response_text, TEXT_LENGTH),
        reason=clean(reason.text, TEXT_LENGTH),
        more=more,
        key_id=reason.key_id,
        key_name=reason.key_name,
        key_prefix=reason.key_prefix,
        workspace_id=reason.workspace_id,
        workspace_name=reason.workspace_name,
        document_id=reason.document_id,
        address=refusal.address[:ADDRESS_LENGTH],
        user_agent=refusal.user_agent,
        method=refusal.method,
        path=refusal.path,
    )
