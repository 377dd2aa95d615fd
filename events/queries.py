"""The query of the feed of events: one prepared statement that returns plain rows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from config.database import Row, fetch
from events.cursors import KEPT, LEAST, Position, check, time_of
from events.serializers import DocumentEvent, event

# Only events of transactions before the oldest one that still runs: a later page could not show
# the events of that one at their place. Each type is read from its own part of the index.
_NEXT = """
    SELECT feed.transaction, feed.time, feed.generation,
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
_FEED = 3  # columns about the feed itself
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
_RECENT = timedelta(days=1)


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
        check(after, end)
    more = len(rows) > size
    events = [event(*row[2:]) for row in rows[:size]]
    last = after
    if events:
        transaction, id = rows[len(events) - 1][:2]
        time = time_of(events[-1].timestamp, end.time)
        last = end._replace(transaction=transaction, id=id, time=time)
    # The same cursor as long as nothing is new, so that the response is a 304; but no old one,
    # which would expire.
    is_recent = last is not None and last.time > end.time - _RECENT
    return Page(events, last if last and (more or is_recent) else end, more)


def _following(
    workspace_id: UUID, types: Sequence[str], after: tuple[int, int], count: int
) -> tuple[Position, list[Row]]:
    wanted = f"{{{','.join(types)}}}"
    rows = fetch(_NEXT, (wanted, workspace_id, *after, count, count))
    transaction, time, generation = rows[0][:_FEED]
    end = Position(transaction, 0, time, generation)
    return end, [row[_FEED:] for row in rows if row[_FEED] is not None]
