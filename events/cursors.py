"""Cursors of the feed of events: opaque and signed, and refused once events may be missing."""

import base64
import struct
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.core.signing import BadSignature, Signer

from config.api.errors import CursorExpired, InvalidParameter
from events.models import KEEP_DAYS

NOW = "now"  # instead of a cursor: those to come
KEPT = timedelta(days=KEEP_DAYS)
LEAST = timedelta(days=1)  # for which a cursor works that a response has just returned
EXPECTED = f"the nextCursor of an earlier response, or '{NOW}'"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PACKED = struct.Struct(">qqqI")


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


def encode(position: Position, workspace_id: UUID) -> str:
    """The cursor of the events that follow a position."""
    microseconds = (position.time - _EPOCH) // timedelta(microseconds=1)
    packed = _PACKED.pack(position.transaction, position.id, microseconds, position.generation)
    return _signer(workspace_id).sign(base64.urlsafe_b64encode(packed).decode())


def decode(cursor: str, workspace_id: UUID) -> Position:
    """The position in a cursor.

    Raises:
        InvalidParameter: it was changed, or belongs to another workspace.
    """
    try:
        value = _signer(workspace_id).unsign(cursor)
    except BadSignature:
        raise InvalidParameter("after", EXPECTED) from None
    transaction, id, microseconds, generation = _PACKED.unpack(base64.urlsafe_b64decode(value))
    time = _EPOCH + timedelta(microseconds=microseconds)
    return Position(transaction, id, time, generation)


def time_of(last: datetime, now: datetime) -> datetime:
    """The time in the position of an event.

    It is later than the event if the cursor would not work for `LEAST` otherwise, but not by more:
    events that follow could be deleted.
    """
    return max(last, min(last + LEAST, now - KEPT + LEAST))


def check(after: Position, end: Position) -> None:
    """Raises CursorExpired if events between two positions may be missing.

    Args:
        end: the present end of the feed. A position after it is one of a database that has since
            been restored, or replaced by a copy that had not received everything.
    """
    too_old = after.time < end.time - KEPT
    if too_old or after.generation != end.generation or after.transaction > end.transaction:
        raise CursorExpired


def _signer(workspace_id: UUID) -> Signer:
    return Signer(salt=f"events.cursor:{workspace_id}", sep=".")
