"""The feed of events: pages, and the positions that lead from one to the next."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple
from uuid import UUID

from msgspec import Meta

from config.api.errors import CursorExpired
from config.connections import fetch
from events.models import KEEP_DAYS, EventType
from events.serializers import DocumentEvent, event_of

NOW = "now"  # instead of a cursor: those to come
KEPT = timedelta(days=KEEP_DAYS)
LEAST = timedelta(days=1)  # for which a cursor works that a response has just returned
EXPECTED = f"the nextCursor of an earlier response, or '{NOW}'"

BigInt = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # PostgreSQL's

_RECENT = timedelta(days=1)  # a younger cursor is returned again while nothing is new

# Hides events of the oldest transaction that still runs and of newer ones: it may still insert
# events before them. Each type is read from its own part of the index.
_EVENTS = """
    SELECT found.* FROM unnest(%(types)s::text[]) AS wanted (type)
    CROSS JOIN LATERAL (
        SELECT * FROM "events_event" AS event
        WHERE event.workspace_id = %(workspace)s AND event.type = wanted.type
            AND event.transaction < feed.horizon AND {condition}
        ORDER BY event.transaction {order}, event.id {order} LIMIT {limit}
    ) AS found
    ORDER BY found.transaction {order}, found.id {order} LIMIT {limit}
"""
# Housekeeping deletes old events, so there are few to skip. Without %(young)s, no event is read.
_YOUNG = (
    "%(young)s::interval IS NOT NULL"
    " AND event.occurred_at > statement_timestamp() - %(young)s::interval"
)
# Before the first young event, or after all events. It is not after the newest transaction: if
# PostgreSQL crashes, the number of one that was rolled back is given again.
_START = f"""
    SELECT coalesce(young.transaction, newest.transaction, 0) AS transaction,
        coalesce(young.id - 1, newest.id, 0) AS id
    FROM (SELECT) AS one_row
    LEFT JOIN LATERAL (
        {_EVENTS.format(condition=_YOUNG, order="ASC", limit=1)}
    ) AS young ON true
    LEFT JOIN LATERAL ({_EVENTS.format(condition="true", order="DESC", limit=1)}) AS newest ON true
"""  # noqa: S608 - made of constants
_AFTER = "SELECT %(transaction)s::bigint AS transaction, %(id)s::bigint AS id"
_FOLLOWING = "(event.transaction, event.id) > (start.transaction, start.id)"
# One statement, so that the start and the end of the page are of one snapshot.
_PAGE = f"""
    SELECT feed.*, start.*, event.transaction, event.id, event.uuid, event.type, event.occurred_at,
        event.document_id::text, event.status
    FROM (
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon,
            statement_timestamp() AS time,
            (SELECT coalesce(max(id), 0) FROM "events_generation") AS generation
    ) AS feed
    CROSS JOIN LATERAL ({{start}}) AS start
    LEFT JOIN LATERAL (
        {_EVENTS.format(condition=_FOLLOWING, order="ASC", limit="%(limit)s")}
    ) AS event ON true
    ORDER BY event.transaction, event.id
"""  # noqa: S608 - made of constants
_FIRST, _NEXT = _PAGE.format(start=_START), _PAGE.format(start=_AFTER)


class FeedPosition(NamedTuple):
    """A place in the feed; the events with a greater (transaction, id) follow it.

    It is that of an event that was shown, or before them all: so its transaction is on disk.
    """

    transaction: BigInt
    id: BigInt
    # The cursor is too old `KEPT` after it. Events that follow are older by `LEAST` at most, apart
    # from those of transactions that ran for long.
    time: Annotated[datetime, Meta(tz=True)]
    generation: int  # of the numbers of transactions (`events.models.Generation`)


class _Row(NamedTuple):
    """A row of `_PAGE`: the feed, the page's start, and an event, all None if there is none."""

    horizon: int
    time: datetime
    generation: int
    start_transaction: int
    start_id: int
    transaction: int
    id: int
    event_id: UUID
    type: str
    occurred_at: datetime
    document_id: str
    status: str


class FeedPage(NamedTuple):
    events: list[DocumentEvent]  # oldest first
    next: FeedPosition  # that the next events follow
    more: bool  # whether there are some already


def end_of_feed(workspace_id: UUID) -> FeedPage:
    """The page without events that all events to come follow."""
    return page(workspace_id, EventType.values, None, 1, young=None)


def page(
    workspace_id: UUID,
    types: Sequence[str],
    after: FeedPosition | None,
    size: int,
    young: timedelta | None = KEPT - LEAST,
) -> FeedPage:
    """The first events of these types that follow a position.

    Args:
        after: None for the first events that are young enough.
        young: so young that a cursor after them works for a day. None if no event is.

    Raises CursorExpired if events that follow the position may be missing.
    """
    values = {"types": list(types), "workspace": workspace_id, "limit": size + 1}
    if after:
        values |= {"transaction": after.transaction, "id": after.id}
        rows: list[_Row] = fetch(_NEXT, values, _Row)
        if _events_may_be_missing(after, rows[0]):
            raise CursorExpired
    else:
        rows = fetch(_FIRST, values | {"young": young}, _Row)
    feed, found = rows[0], [row for row in rows if row.id is not None]
    last = after or FeedPosition(feed.start_transaction, feed.start_id, feed.time, feed.generation)
    more, shown = len(found) > size, found[:size]
    if shown:
        end = shown[-1]
        # Later than the event if the cursor would not work for `LEAST` otherwise, but not by more:
        # events that follow could be deleted.
        time = max(end.occurred_at, min(end.occurred_at + LEAST, feed.time - KEPT + LEAST))
        last = FeedPosition(end.transaction, end.id, time, feed.generation)
    # The same cursor as long as nothing is new, so that the response is a 304; but no old one,
    # which would expire.
    if not more and last.time <= feed.time - _RECENT:
        last = last._replace(time=feed.time)
    return FeedPage([event_of(row) for row in shown], last, more)


def _events_may_be_missing(after: FeedPosition, feed: _Row) -> bool:
    """Whether some of the events that follow a position may be deleted, or lost.

    A position that is not before the feed's horizon is one of a database that has since been
    restored, or replaced by a copy that had not received everything.
    """
    too_old = after.time < feed.time - KEPT
    return too_old or after.generation != feed.generation or after.transaction >= feed.horizon
