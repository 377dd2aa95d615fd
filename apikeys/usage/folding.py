"""Folds refused requests: equal ones of a key or a network, in one minute, are one row."""

from collections.abc import Hashable
from datetime import datetime
from uuid import UUID

from apikeys.usage.models import IDS_KEPT, RefusedRequest

ROWS_A_MINUTE = 20  # of a key or a network

# By key or network and minute, then by what else is equal.
Rows = dict[tuple[UUID | str, datetime], dict[Hashable, RefusedRequest]]


def fold(row: RefusedRequest, into: Rows, room: int | None = None) -> RefusedRequest | None:
    """Adds a row to the one that is like it, or else as another one.

    Without room for another one, the last one of the same key or network counts it. Returns the
    row that has changed; None if only the log has the request, which had no valid key then.
    """
    whose = row.key_id or row.address, row.minute
    rows = into.get(whose, {})
    # The digest tells apart what has the same first characters.
    what = (row.status, row.reason, row.path, row.key_prefix, row.sent_digest)
    if found := rows.get(what):
        found.created_at = min(found.created_at, row.created_at)
        found.last_at = max(found.last_at, row.last_at)
        found.requests += row.requests
        found.others += row.others
        found.request_ids = [*found.request_ids, *row.request_ids][:IDS_KEPT]
        return found
    has_room = room is None or sum(map(len, into.values())) < room
    first_of_key = row.key_id and not rows  # so that all its requests are counted
    if first_of_key or (has_room and len(rows) < ROWS_A_MINUTE):
        into.setdefault(whose, {})[what] = row
        return row
    last = next(reversed(rows.values()), None)
    if last:
        last.others += row.requests + row.others
    return last
