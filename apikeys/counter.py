"""Counts the requests of each key: in Redis, or in this process.

Each window of each key has its own counter, so counters are never reset.
"""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from redis import ConnectionPool
from redis.connection import ConnectionInterface
from redis.exceptions import ConnectionError, NoScriptError, RedisError

from config import redis_client
from config.api.limits import WINDOW

_EXPIRY = 2 * WINDOW  # seconds: the clocks of several machines may differ
_INCREMENT = f"""
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], {_EXPIRY}) end
return count
"""
_SHA = hashlib.sha1(_INCREMENT.encode(), usedforsecurity=False).hexdigest()


class RedisCounter:
    """Counts in Redis, for any number of processes, in one round trip.

    It keeps its connections itself: redis-py's client and pool cost twice the round trip.

    Args:
        url: of the Redis database, as redis-py reads it.
        timeout: seconds that connecting and the response may take each.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._pool = ConnectionPool.from_url(url, **redis_client.options(timeout))
        self._free: list[ConnectionInterface] = []  # and no thread uses them

    def increment(self, key_id: UUID, window_end: int) -> int:
        """Counts one request; returns how many the window has, this one included.

        Args:
            window_end: seconds since the epoch; it identifies the window.

        Raises:
            redis.RedisError: Redis is out of reach or refuses.
        """
        counter = f"requests:{key_id}:{window_end}"
        with self._connection() as connection:
            # A script runs as a whole: no counter is left without its expiry.
            try:
                return int(_ask(connection, "EVALSHA", _SHA, 1, counter))
            except NoScriptError:  # Redis has started since
                return int(_ask(connection, "EVAL", _INCREMENT, 1, counter))

    @contextmanager
    def _connection(self) -> Iterator[ConnectionInterface]:
        """A connection that no other thread uses; it connects with its first command."""
        try:
            connection = self._free.pop()
        except IndexError:
            connection = self._pool.make_connection()
        if connection.should_reconnect():  # type: ignore[no-untyped-call]
            connection.disconnect()  # type: ignore[no-untyped-call]
        try:
            yield connection
        except RedisError:
            # After a failover these connections may lead to a replica, which refuses to count.
            for each in (connection, *self._free):
                each.mark_for_reconnect()  # type: ignore[no-untyped-call]
            raise
        finally:
            self._free.append(connection)


def _ask(connection: ConnectionInterface, *command: str | int) -> Any:
    """The response to a command.

    A kept connection may have died while it was idle: then the command is sent on a new one.
    """
    was_open = connection.is_connected
    try:
        connection.send_command(*command)  # type: ignore[no-untyped-call]
        return connection.read_response()
    except ConnectionError:
        if not was_open:
            raise
    connection.send_command(*command)  # type: ignore[no-untyped-call]
    return connection.read_response()


class ProcessCounter:
    """Counts in this process's memory, for a service that is one process.

    It holds the windows that have not ended, at most one for each second of a minute.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: dict[int, Counter[UUID]] = {}

    def increment(self, key_id: UUID, window_end: int) -> int:
        """As `RedisCounter.increment`, without its errors."""
        with self._lock:
            if window_end not in self._windows:
                start = window_end - WINDOW
                self._windows = {end: w for end, w in self._windows.items() if end > start}
                self._windows[window_end] = Counter()
            window = self._windows[window_end]
            window[key_id] += 1
            return window[key_id]


def choose(url: str, timeout: float) -> RedisCounter | ProcessCounter:
    """The counter for a REDIS_URL."""
    if url.startswith("memory://"):
        return ProcessCounter()
    return RedisCounter(url, timeout)
