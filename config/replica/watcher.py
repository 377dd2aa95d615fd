"""Watches how far the replica is behind the primary, from a thread of each server process.

The thread remembers where the primary's write-ahead log was at each moment. So a replica that has
replayed it up to a position is known to be current as of a moment, also while nothing is written.
If the thread stops, what it knows becomes too old, and the replica is not used.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections

from config.postgresql.base import DatabaseWrapper
from config.replica.connection import Pool, create
from config.request_context import deadline

logger = logging.getLogger(__name__)

POLL = 0.2  # seconds
SECONDS = 1.0  # that the primary or the replica may take to respond to the thread
REMEMBERED = 60.0  # seconds, or twice REPLICA_MAX_LAG

# SQL: the position that a replica has replayed, or a primary has inserted, in bytes. A transaction
# may be visible before its part of the log is written (synchronous_commit = off). At the end of a
# page the insert position is already behind the header of the next page, which has 40 bytes in the
# first page of a segment and 24 in others; a replica that has replayed all is before it.
POSITION = """
    (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE (
        SELECT lsn - CASE WHEN file_offset = 40 THEN 40
            WHEN file_offset % current_setting('wal_block_size')::int = 24 THEN 24 ELSE 0 END
        FROM pg_current_wal_insert_lsn() AS lsn, pg_walfile_name_offset(lsn)
    ) END - '0/0')::bigint
"""

# The replica has to be of the same cluster, and not of a timeline that a failover has abandoned.
_STATE = f"""
    SELECT (SELECT system_identifier FROM pg_control_system()), pg_is_in_recovery(),
        CASE WHEN pg_is_in_recovery() THEN (
            SELECT greatest(c.timeline_id, r.min_recovery_end_timeline)
            FROM pg_control_checkpoint() AS c, pg_control_recovery() AS r
        ) ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int END,
        {POSITION},
        pg_snapshot_xmin(pg_current_snapshot())::text::bigint
"""  # noqa: S608 - made of constants


class NoResponse(Exception):
    """A server does not respond; the cause has the error."""


class Answer(NamedTuple):
    """What a server says about itself.

    Attributes:
        position: in the write-ahead log, in bytes: written if it is a primary, replayed if not.
        transaction: all transactions with smaller numbers have ended.
    """

    system: int
    in_recovery: bool
    timeline: int
    position: int
    transaction: int


class Moment(NamedTuple):
    """The primary between two times on the monotonic clock.

    Attributes:
        position: at least that of whatever was committed before `began`.
        transaction: all with smaller numbers had ended before `ended`.
    """

    began: float
    ended: float
    position: int
    transaction: int


_TOO_FAR_BEHIND = "it is too far behind"


@dataclass(frozen=True)
class Knowledge:
    """What is known about the replica.

    Attributes:
        problem: why it could not be used when it was asked; "" if it could.
        position: a position that it has replayed, as has the primary at `as_of`.
        as_of: it has everything that was committed before this time on the monotonic clock. None if
            such a time is not known.
    """

    problem: str
    position: int = 0
    as_of: float | None = None

    @property
    def lag(self) -> float | None:
        """Seconds that the replica may be behind at present; None if that is not known."""
        return None if self.as_of is None else time.monotonic() - self.as_of

    @property
    def reason(self) -> str:
        """Why documents may not be read from it now; "" if they may. Knowledge becomes too old."""
        too_old = (self.lag or 0.0) > settings.REPLICA_MAX_LAG
        return self.problem or (_TOO_FAR_BEHIND if too_old else "")

    @property
    def usable(self) -> bool:
        """Whether documents may be read from it now."""
        return not self.reason


class Watcher:
    """What this process knows of primary and replica.

    Attributes:
        pool: connections to the replica, which it keeps open.
    """

    def __init__(self) -> None:
        self.pool = Pool()
        self.knowledge = Knowledge("it was not asked yet")
        self._primary: tuple[int, int] | None = None  # its cluster and timeline
        self._moments: tuple[Moment, ...] = ()  # replaced as a whole, as other threads read it
        self._stopped = threading.Event()  # never

    def start(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._run, name="replica watcher", daemon=True).start()

    def settled_transaction(self) -> int | None:
        """What transactions with smaller numbers did is in every list that is read from now on.

        Returns:
            None if the primary is watched for less than REPLICA_MAX_LAG.
        """
        limit = time.monotonic() - settings.REPLICA_MAX_LAG
        past = (moment for moment in reversed(self._moments) if moment.ended <= limit)
        found = next(past, None)
        return found and found.transaction

    def _run(self) -> None:
        primary: DatabaseWrapper = connections.create_connection(DEFAULT_DB_ALIAS)  # type: ignore[assignment]
        replica = create()
        while not self._stopped.wait(POLL):
            before, cause = self.knowledge, ""
            try:
                self.knowledge = self._look(primary, replica)
            except NoResponse as exc:
                cause = f" ({exc.__cause__})"
                self.knowledge = Knowledge(str(exc), 0, before.as_of)
                self.pool.close()
            except Exception as exc:  # the thread must go on
                cause = f" ({exc!r})"
                self.knowledge = Knowledge("it cannot be watched", 0, before.as_of)
            self._log(before.problem, cause)

    def _log(self, before: str, cause: str) -> None:
        """Logs whether the replica is used, if that has changed."""
        now = self.knowledge.problem
        if now and now != before:
            logger.warning("The replica is not used: %s%s", now, cause)
        elif before and not now:
            logger.warning("The replica is used")

    def _look(self, primary: DatabaseWrapper, replica: DatabaseWrapper) -> Knowledge:
        began = time.monotonic()
        # Only requests open and close their circuit breaker: they have more time than this thread.
        with _responding("the primary"), primary.guard(counts=False):
            there = _ask(primary)
        if there.in_recovery:
            return Knowledge("DATABASE_URL leads to a server in recovery")
        if self._primary != (there.system, there.timeline):
            # Positions and transactions of another log mean nothing.
            self._primary, self._moments = (there.system, there.timeline), ()
        self._remember(Moment(began, time.monotonic(), there.position, there.transaction))
        with _responding("it"):
            here = _ask(replica)
        if not here.in_recovery:
            return Knowledge("it is not in recovery, so it is no replica")
        if (here.system, here.timeline) != (there.system, there.timeline):
            return Knowledge("it is not of the primary's cluster and timeline")
        reached = (m for m in reversed(self._moments) if m.position <= here.position)
        moment = next(reached, None)
        if moment is None or time.monotonic() - moment.began > settings.REPLICA_MAX_LAG:
            as_of = moment.began if moment else self.knowledge.as_of
            return Knowledge(_TOO_FAR_BEHIND, 0, as_of)
        with _responding("it"):
            self.pool.fill()
        return Knowledge("", moment.position, moment.began)

    def _remember(self, moment: Moment) -> None:
        oldest = moment.ended - max(REMEMBERED, 2 * settings.REPLICA_MAX_LAG)
        self._moments = (*(each for each in self._moments if each.ended >= oldest), moment)


def _ask(connection: DatabaseWrapper) -> Answer:
    """Asks a server about itself.

    Raises:
        django.db.Error: it does not respond.
    """
    with connection.cursor() as cursor:
        try:
            cursor.execute(_STATE)
            return Answer(*cursor.fetchone())
        except Error:
            connection.close()
            raise


@contextlib.contextmanager
def _responding(name: str) -> Iterator[None]:
    """Limits the time of what is asked of a server, and names it if it fails."""
    token = deadline.set(time.monotonic() + SECONDS)
    try:
        yield
    except Error as exc:
        raise NoResponse(f"{name} does not respond") from exc
    finally:
        deadline.reset(token)


watcher = Watcher()
