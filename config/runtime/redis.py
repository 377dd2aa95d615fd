"""Redis: its client, its breaker, and the cache that counts sign-ins."""

import functools
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.runtime.breaker import Breaker, BreakerOpen

# For all that uses Redis: while it does not respond, at most one request a second waits for it.
breaker = Breaker("counter", failures=1)

# A counter that has just expired would begin again, and never expire.
_INCREMENT = "return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('INCR', KEYS[1])"


@functools.cache
def client(url: str, timeout: float) -> "Redis":
    """The client that all threads share.

    Args:
        url: of the Redis database, as redis-py reads it.
        timeout: seconds that connecting and the response may take each. Nothing is tried twice.
    """
    return Redis.from_url(
        url,
        socket_connect_timeout=timeout,
        socket_timeout=timeout,
        # In RESP3 a server can announce its maintenance: then redis-py would wait 10 seconds.
        protocol=2,
        retry=Retry(NoBackoff(), 0),
    )


def call(redis: "Redis", *command: Any) -> Any:
    """The response to a command.

    Raises:
        redis.RedisError: Redis is out of reach or refuses.
    """
    try:
        return redis.execute_command(*command)  # type: ignore[no-untyped-call]
    except RedisError:
        # After a failover these connections may lead to a replica, which refuses to count.
        redis.connection_pool.disconnect(inuse_connections=False)
        raise


class SignInCache(BaseCache):
    """Counts in Redis; while Redis is out of reach in the cache `process`, in this process.

    It has the methods that django-ratelimit counts with, for values that are whole numbers.

    Args:
        location: the URL of Redis.
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._redis = client(location, settings.REDIS_TIMEOUT)

    def add(self, key: str, value: int, timeout: float, version: int | None = None) -> bool:  # type: ignore[override]
        try:
            return bool(self._call("SET", key, value, "NX", "EX", int(timeout)))
        except (RedisError, BreakerOpen):
            return caches["process"].add(key, value, timeout)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            value = self._call("GET", key)
        except (RedisError, BreakerOpen):
            return caches["process"].get(key, default)
        return default if value is None else int(value)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        try:
            count = self._call("EVAL", _INCREMENT, 1, key)
        except (RedisError, BreakerOpen):
            caches["process"].add(key, 0)  # `add` may have been the last that reached Redis
            return caches["process"].incr(key)
        if count is None:
            raise ValueError("the counter has expired")
        return int(count)

    def _call(self, *command: Any) -> Any:
        with breaker.call(RedisError):
            return call(self._redis, *command)
