"""Reading lists of documents from a streaming replica, while that is current enough.

The first page of a list has a position in the primary's write-ahead log. With that, later pages
are never read from a state that is older than the first one's. Whatever the replica cannot do, or
cannot do in time, the primary does.
"""

import time
from collections.abc import Sequence

from django.conf import settings
from django.db import Error, OperationalError

from config.database import Row, Statement, fetch_together
from config.replica.connection import ReplicaConnection
from config.replica.metrics import PAGES
from config.replica.watcher import POLL, POSITION, watcher

START_SECONDS = 5.0  # that a process may wait until it serves
UNKNOWN = 0  # of a page read without a replica: only the primary is certainly not older

# Read before other statements, they see at least this position; read after them, at most.
_POSITION = (f"SELECT pg_is_in_recovery(), {POSITION}", ())


def start() -> None:
    """Watches the replica, if there is one; a server process calls this before it serves.

    It returns when `settled` is known, or after `START_SECONDS`.
    """
    if not settings.DATABASE_REPLICA:
        return
    watcher.start()
    end = time.monotonic() + START_SECONDS
    while watcher.settled_transaction() is None and time.monotonic() < end:
        time.sleep(POLL)


class Walk:
    """Reads the pages of one list, each in one round trip.

    Attributes:
        position: of the first page, at most; to be passed back with each later one.

    Args:
        first: the position of the first page; None for the first page itself.
    """

    def __init__(self, first: int | None) -> None:
        self._first = first
        self.position = UNKNOWN if first is None else first

    @property
    def position_varies(self) -> bool:
        """Whether the position may be another one next time, although nothing has changed."""
        return self._first is None and self.position != UNKNOWN

    def fetch_together(self, *statements: Statement) -> list[list[Row]]:
        """The rows of each statement, as from `config.database.fetch_together`.

        Raises:
            django.db.Error: the primary has failed.
        """
        if not settings.DATABASE_REPLICA or self._first == UNKNOWN:
            return fetch_together(*statements)
        if (rows := self._from_replica(statements)) is not None:
            return rows
        if self._first is not None:
            return fetch_together(*statements)
        *rows, [(_, self.position)] = fetch_together(*statements, _POSITION)
        return rows

    def _from_replica(self, statements: Sequence[Statement]) -> list[list[Row]] | None:
        """The rows; None if the replica does not respond, or is older than it must be."""
        knowledge = watcher.knowledge
        if not knowledge.usable or ReplicaConnection.breaker.open:
            return None
        if (connection := watcher.pool.take()) is None:
            return None
        try:
            before, *rows, after = fetch_together(
                _POSITION, *statements, _POSITION, connection=connection
            )
        except Error:  # the circuit breaker has counted it, and logs that it opens
            PAGES.labels("failed").inc()
            return None
        finally:
            watcher.pool.give_back(connection)
        # It may have restarted since the watcher asked it, with an older state, or been promoted.
        [(in_recovery, reached)] = before
        if not in_recovery or reached < max(knowledge.position, self._first or 0):
            PAGES.labels("older").inc()
            return None
        PAGES.labels("read").inc()
        if self._first is None:
            [(_, self.position)] = after
        return rows


def settled(transaction: int) -> int:
    """The transaction below which all changes are in each list that is read from now on.

    Args:
        transaction: below which all have ended.

    Raises:
        django.db.OperationalError: it is not known yet.
    """
    if not settings.DATABASE_REPLICA:
        return transaction
    if (known := watcher.settled_transaction()) is None:
        raise OperationalError("the primary is not watched for REPLICA_MAX_LAG yet")
    return min(known, transaction)
