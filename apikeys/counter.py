"""Counts the requests of each key: in Redis, or in this process.

Each window of each key has its own counter, so counters are never reset.
"""

import threading
from collections import Counter
from uuid import UUID

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config import redis_client
from config.api.limits import WINDOW
from config.redis_url import parse

_EXPIRY = 2 * WINDOW  # seconds: the clocks of several machines may differ
_INCREMENT = f"""
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], {_EXPIRY}) end
return count
"""


class RedisCounter:
    """Counts in Redis, for any number of processes, in one round trip.

    Args:
        url: of the Redis database, as redis-py reads it.
        timeout: seconds that connecting and the response may take each; there is no second try.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = Redis.from_url(
            url,
            socket_connect_timeout=timeout,
            socket_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
        )
        # A script runs as a whole: no counter is left without its expiry.
        self._increment = self._redis.register_script(_INCREMENT)

    def increment(self, key_id: UUID, window_end: int) -> int:
        """Counts one request; returns how many the window has, this one included.

        Args:
            window_end: seconds since the epoch; it identifies the window.

        Raises:
            redis.RedisError: Redis is out of reach or refuses.
        """
        return int(self._increment([f"requests:{key_id}:{window_end}"]))

    def ping(self) -> None:
        """Returns if Redis responds.

        Raises:
            redis.RedisError: it does not.
        """
        self._redis.ping()


class ManagedRedisCounter:
    """Counts in a Redis that Sentinel or Cluster manages. A counter is one key, so on one server.

    Args:
        url: as `config.redis_url` describes it.
        timeout: seconds, as in `config.redis_client.RedisClient`.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = redis_client.connect(url, timeout)

    def increment(self, key_id: UUID, window_end: int) -> int:
        """As `RedisCounter.increment`."""
        return int(self._redis.call("EVAL", _INCREMENT, 1, f"requests:{key_id}:{window_end}"))

    def ping(self) -> None:
        """As `RedisCounter.ping`."""
        self._redis.call("PING")


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

    def ping(self) -> None:
        """As `RedisCounter.ping`: this counter is always in reach."""


def choose(url: str, timeout: float) -> RedisCounter | ManagedRedisCounter | ProcessCounter:
    """The counter for a REDIS_URL."""
    if url.startswith("memory://"):
        return ProcessCounter()
    return RedisCounter(url, timeout) if parse(url) is None else ManagedRedisCounter(url, timeout)
