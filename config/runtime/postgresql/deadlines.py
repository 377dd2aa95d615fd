"""Deadlines of database statements: a watchdog cuts the connection of one that is late.

psycopg has no time-out for a statement, and the server's own does not help if the server is silent.
"""

import contextlib
import functools
import os
import socket
import threading
import time
from typing import Protocol
from weakref import WeakSet

import psycopg

API_SECONDS = 5.0  # for a request to the API, and for a statement of it
PAGE_SECONDS = 30.0  # the same for pages
LOCK_SECONDS = 2.0  # that a statement of the API waits for a lock
GRACE = 0.3  # seconds; the server's own time-out comes first, which keeps the connection
POLL = 0.1  # seconds


class HasConnection(Protocol):
    """Django's object for a connection."""

    connection: psycopg.Connection | None


class Watch:
    """The deadline of what one connection waits for at present.

    Args:
        owner: has the connection, which may be replaced.
    """

    def __init__(self, owner: HasConnection) -> None:
        self._owner = owner
        self._end: float | None = None  # on the monotonic clock
        self._cut = False
        self._lock = threading.Lock()
        with _watches_lock:
            _watches.add(self)

    @property
    def running(self) -> bool:
        """Whether a wait has begun and not ended."""
        return self._end is not None

    def begin(self, deadline: float) -> None:
        """Begins a wait, until `deadline` on the monotonic clock."""
        _start_watchdog()
        self._end = deadline + GRACE

    def end(self) -> bool:
        """Ends the wait; returns whether the connection was cut."""
        with self._lock:  # afterwards the next wait cannot be cut for this one
            self._end = None
            cut, self._cut = self._cut, False
        return cut

    def check(self) -> None:
        """Cuts the connection if the wait is late. Called by the watchdog."""
        with self._lock:
            if self._end is None or time.monotonic() < self._end:
                return
            connection = self._owner.connection
            if connection is None:  # being opened, which has a time-out of its own
                return
            with contextlib.suppress(OSError, psycopg.OperationalError):  # closed meanwhile
                # libpq goes on owning its descriptor; the copy leads to the same connection.
                with socket.socket(fileno=os.dup(connection.pgconn.socket)) as copy:
                    copy.shutdown(socket.SHUT_RDWR)
                self._cut = True


_watches: WeakSet[Watch] = WeakSet()
_watches_lock = threading.Lock()


@functools.cache  # two threads that begin at once may start it twice, which does no harm
def _start_watchdog() -> None:
    """Starts the thread for all connections. It polls: waking it would cost more."""
    threading.Thread(target=_run_watchdog, name="database watchdog", daemon=True).start()


def _run_watchdog() -> None:
    while True:
        time.sleep(POLL)
        with _watches_lock:
            watches = [watch for watch in _watches if watch.running]
        for watch in watches:
            watch.check()
