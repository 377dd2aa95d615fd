"""Reading lists of documents from a streaming replica, while that is current enough.

Each read returns its position in the primary's write-ahead log. Whoever reads on later passes it
back, and never gets a state that is older than the one of the first read. Whatever the replica
cannot do, or cannot do in time, the primary does.
"""

import time
from collections.abc import Sequence

from django.conf import settings
from django.db import Error, OperationalError

from config.database import Row, Statement, fetch_together
from config.replica.connection import ReplicaConnection
from config.replica.metrics import PAGES
from config.replica.watcher import POLL, watcher
from config.request_context import deadline

UNKNOWN = 0  # the position of a read without a replica; only the primary has certainly reached it

# Read before other statements, they see at least this position; read after them, at most.
_POSITION = (
    """
    SELECT pg_is_in_recovery(), (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
        ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint
    """,
    (),
)


def start() -> None:
    """Watches the replica, if there is one; a server process calls this once."""
    if settings.DATABASE_REPLICA:
        watcher.start()


def read(statements: Sequence[Statement], since: int | None) -> tuple[list[list[Row]], int]:
    """The rows of each statement, from the replica or the primary, and the first read's position.

    Args:
        since: the position of the first read; None if this is the first.

    Raises:
        django.db.Error: as `config.database.fetch`.
    """
    if not settings.DATABASE_REPLICA:
        return fetch_together(statements), UNKNOWN if since is None else since
    if since != UNKNOWN and (found := _from_replica(statements, since or 0)):
        rows, position = found
        return rows, position if since is None else since
    if since is not None:
        return fetch_together(statements), since
    *rows, [(_, position)] = fetch_together([*statements, _POSITION])
    return rows, position


def settled(transaction: int) -> int:
    """The transaction below which all changes are in each list that is read from now on.

    A process that has just started waits until it knows that.

    Args:
        transaction: below which all have ended.

    Raises:
        django.db.OperationalError: it is not known by the request's deadline.
    """
    if not settings.DATABASE_REPLICA:
        return transaction
    while (known := watcher.settled_transaction()) is None:
        if time.monotonic() > (deadline.get() or 0.0):
            raise OperationalError("the primary is not watched for REPLICA_MAX_LAG yet")
        time.sleep(POLL)
    return min(known, transaction)


def _from_replica(
    statements: Sequence[Statement], least: int
) -> tuple[list[list[Row]], int] | None:
    """The same, if the replica is current enough and has reached the position `least`."""
    knowledge = watcher.knowledge
    if not knowledge.usable or ReplicaConnection.breaker.open:
        return None
    connection = watcher.pool.take()
    if connection is None:
        return None
    try:
        [first], *rows, [last] = fetch_together([_POSITION, *statements, _POSITION], connection)
    except Error:  # the circuit breaker has counted it, and logs that it opens
        PAGES.labels("failed").inc()
        return None
    finally:
        watcher.pool.give_back(connection)
    # It may have restarted since the watcher asked it, with an older state, or been promoted.
    in_recovery, reached = first
    if not in_recovery or reached < max(knowledge.position, least):
        PAGES.labels("older").inc()
        return None
    PAGES.labels("read").inc()
    return rows, last[1]
