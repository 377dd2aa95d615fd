"""Connections to the replica. The watcher's thread opens them, so that no request waits for it."""

import contextlib
import threading
from collections import deque

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections

from config.breaker import Breaker
from config.postgresql.base import DatabaseWrapper
from config.slots import close_if_unusable

# Seconds of a statement: the primary is asked afterwards, and a slot waits meanwhile.
SECONDS = 0.5


class ReplicaConnection(DatabaseWrapper):
    """A connection with a circuit breaker of its own, so that the replica never stops the primary.

    One failure opens it, since the primary can do the same. The watcher closes it.
    """

    breaker = Breaker("replica", failures=1)
    seconds = SECONDS


def create() -> ReplicaConnection:
    """A connection, which connects when it is first used."""
    parameters = {**connections.settings[DEFAULT_DB_ALIAS], **settings.DATABASE_REPLICA}
    connection = ReplicaConnection(parameters, "replica")
    connection.inc_thread_sharing()  # one thread after the other uses it
    return connection


class Pool:
    """As many connections as the API has slots."""

    def __init__(self) -> None:
        self._free: deque[ReplicaConnection] = deque()
        self._open = 0  # with those in use
        self._lock = threading.Lock()

    def fill(self) -> None:
        """Opens those that are missing.

        Raises:
            django.db.Error: the replica does not respond.
        """
        while self._open < settings.API_SLOTS:
            connection = create()
            connection.connect()
            self._count(1)
            self._free.append(connection)

    def take(self) -> ReplicaConnection | None:
        """A connection that no other thread uses; None if there is none."""
        try:
            return self._free.pop()
        except IndexError:
            return None

    def give_back(self, connection: ReplicaConnection) -> None:
        """Takes back a connection, which may be broken."""
        close_if_unusable(connection)
        if connection.connection is None:
            self._count(-1)
        else:
            self._free.append(connection)

    def close(self) -> None:
        """Closes those that no thread uses: they have probably died with the watcher's own."""
        while connection := self.take():
            with contextlib.suppress(Error):
                connection.close()
            self.give_back(connection)

    def _count(self, more: int) -> None:
        with self._lock:
            self._open += more
