"""The feed of events: pages, and the cursors that lead from one to the next.

Cursors are opaque and signed, and refused once events may be missing.
"""

import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from config.api.cursors import from_microseconds, sign, to_microseconds, unsign
from config.api.errors import CursorExpired
from config.database import fetch
from events.models import KEEP_DAYS
from events.serializers import DocumentEvent, event

NOW = "now"  # instead of a cursor: those to come
KEPT = timedelta(days=KEEP_DAYS)
LEAST = timedelta(days=1)  # for which a cursor works that a response has just returned
EXPECTED = f"the nextCursor of an earlier response, or '{NOW}'"

_RECENT = timedelta(days=1)  # a younger cursor is returned again while nothing is new
_PACKED = struct.Struct(">qqqI")

# Only events of transactions before the oldest one that still runs: a later page could not show
# the events of that one at their place. Each type is read from its own part of the index.
_NEXT = """
    SELECT feed.transaction AS end, feed.time, feed.generation,
        event.transaction, event.id, event.uuid, event.type, event.occurred_at,
        event.document_id::text, event.status
    FROM (
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS transaction,
            statement_timestamp() AS time,
            (SELECT coalesce(max(id), 0) FROM "events_generation") AS generation
    ) AS feed
    LEFT JOIN LATERAL (
        SELECT found.* FROM unnest(%s::text[]) AS wanted (type)
        CROSS JOIN LATERAL (
            SELECT * FROM "events_event" AS event
            WHERE event.workspace_id = %s AND event.type = wanted.type
                AND (event.transaction, event.id) > (%s, %s)
                AND event.transaction < feed.transaction
            ORDER BY event.transaction, event.id LIMIT %s
        ) AS found
        ORDER BY found.transaction, found.id LIMIT %s
    ) AS event ON true
    ORDER BY event.transaction, event.id
"""
_START = (0, 0)  # the position before all events
_END = (1 << 62, 0)  # and after them
# The position before the first event that is young enough: a cursor that follows it works for a
# day. Found by halving, since there is no index on time and ids are in its order.
_FIRST = f"""
    WITH RECURSIVE halving (low, high) AS (
        SELECT min(id), max(id) + 1 FROM "events_event"
        UNION ALL
        SELECT CASE WHEN event.is_young THEN low ELSE event.id + 1 END,
            CASE WHEN event.is_young THEN (low + high) / 2 ELSE high END
        FROM halving CROSS JOIN LATERAL (
            SELECT id, occurred_at > now() - interval '{(KEPT - LEAST).days} days' AS is_young
            FROM "events_event" WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1
        ) AS event
        WHERE low < high
    )
    SELECT transaction, id - 1 FROM "events_event"
    WHERE id >= (SELECT max(low) FROM halving) ORDER BY id LIMIT 1
"""  # noqa: S608 - made of constants


class Position(NamedTuple):
    """A place in the feed; the events with a greater (transaction, id) follow it.

    Attributes:
        time: when the cursor gets too old depends on it. Events that follow are older by `LEAST`
            at most, apart from those of transactions that ran for long.
        generation: of the numbers of transactions (`events.models.Generation`).
    """

    transaction: int
    id: int
    time: datetime
    generation: int


class _Row(NamedTuple):
    """A row of `_NEXT`: the end of the feed, and an event, all None if there is none."""

    end: int
    time: datetime
    generation: int
    transaction: int
    id: int
    uuid: UUID
    type: str
    occurred_at: datetime
    document_id: str
    status: str

    @property
    def event(self) -> DocumentEvent:
        return event(self.uuid, self.type, self.occurred_at, self.document_id, self.status)


class Page(NamedTuple):
    """Some events, oldest first.

    Attributes:
        next: the position that the next events follow.
        more: whether there are some already.
    """

    events: list[DocumentEvent]
    next: Position
    more: bool


def end_of_feed(workspace_id: UUID) -> Page:
    """The page without events that all events to come follow."""
    end, _ = _following(workspace_id, [], _START, 0)
    return Page([], end, more=False)


def page(workspace_id: UUID, types: Sequence[str], after: Position | None, size: int) -> Page:
    """The first events of these types that follow a position.

    Args:
        after: None for the first events after which a cursor works for a day.
        size: how many at most.

    Raises:
        CursorExpired: events that follow the position may be missing.
    """
    start = after[:2] if after else next(iter(fetch(_FIRST, [])), _END)
    end, rows = _following(workspace_id, types, start, size + 1)
    if after:
        _check(after, end)
    more = len(rows) > size
    shown = rows[:size]
    last = after
    if shown:
        time = _time_of(shown[-1].occurred_at, end.time)
        last = end._replace(transaction=shown[-1].transaction, id=shown[-1].id, time=time)
    # The same cursor as long as nothing is new, so that the response is a 304; but no old one,
    # which would expire.
    is_recent = last is not None and last.time > end.time - _RECENT
    return Page([row.event for row in shown], last if last and (more or is_recent) else end, more)


def _following(
    workspace_id: UUID, types: Sequence[str], after: tuple[int, int], count: int
) -> tuple[Position, list[_Row]]:
    rows = fetch(_NEXT, (list(types), workspace_id, *after, count, count), _Row)
    end = Position(rows[0].end, 0, rows[0].time, rows[0].generation)
    return end, [row for row in rows if row.id is not None]


def encode(position: Position, workspace_id: UUID) -> str:
    """The cursor of the events that follow a position."""
    time = to_microseconds(position.time)
    packed = _PACKED.pack(position.transaction, position.id, time, position.generation)
    return sign(packed, _purpose(workspace_id))


def decode(cursor: str, workspace_id: UUID) -> Position:
    """The position in a cursor.

    Raises:
        InvalidParameter: it was changed, or belongs to another workspace.
    """
    packed = unsign(cursor, _purpose(workspace_id), "after", EXPECTED)
    transaction, id, microseconds, generation = _PACKED.unpack(packed)
    return Position(transaction, id, from_microseconds(microseconds), generation)


def _time_of(last: datetime, now: datetime) -> datetime:
    """The time in the position of an event.

    It is later than the event if the cursor would not work for `LEAST` otherwise, but not by more:
    events that follow could be deleted.
    """
    return max(last, min(last + LEAST, now - KEPT + LEAST))


def _check(after: Position, end: Position) -> None:
    """Raises CursorExpired if events between two positions may be missing.

    Args:
        end: the present end of the feed. A position after it is one of a database that has since
            been restored, or replaced by a copy that had not received everything.
    """
    too_old = after.time < end.time - KEPT
    if too_old or after.generation != end.generation or after.transaction > end.transaction:
        raise CursorExpired


def _purpose(workspace_id: UUID) -> str:
    return f"events.cursor:{workspace_id}"
