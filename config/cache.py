"""The cache in which django-ratelimit counts: Redis, or this process if Redis is out of reach."""

import logging
import threading
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from redis import ConnectionError, ConnectionPool, RedisError
from redis.connection import ConnectionInterface

from config.request import metrics

logger = logging.getLogger(__name__)

COUNTERS = 1_000  # that a thread remembers; each lasts for a minute or an hour
PAUSE = 1.0  # seconds for which a thread leaves Redis alone after a failure
_thread = threading.local()  # a connection each; redis-py's pool takes five times as long


class CounterCache(BaseCache):
    """Whole numbers in Redis, with the methods that django-ratelimit calls.

    If Redis does not respond, or refuses, no request fails: the cache `default` counts instead, in
    this process.

    django-ratelimit adds a counter before each increment. A thread asks Redis for that only once
    (docs/decisions/0005).
    """

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._added: dict[str, int] = {}  # counters that exist, as far as is known: their seconds

    def add(self, key: str, value: int, timeout: float, version: int | None = None) -> bool:  # type: ignore[override]
        if key in self._added:
            return False
        try:
            added = _call("SET", key, value, "NX", "EX", int(timeout)) is not None
            if len(self._added) >= COUNTERS:
                self._added.clear()
            self._added[key] = int(timeout)
            return added
        except RedisError:
            return caches["default"].add(key, value, timeout)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        try:
            value = _call("GET", key)
        except RedisError:
            return caches["default"].get(key, default)
        return default if value is None else int(value)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        try:
            count = int(_call("INCRBY", key, delta))
            if count == delta:  # Redis has lost the counter, and made it anew without an end
                _call("EXPIRE", key, self._added.get(key, 3600))
            return count
        except RedisError:
            caches["default"].add(key, 0)  # `add` may have been the last that reached Redis
            return caches["default"].incr(key, delta)


def _call(*command: Any) -> Any:
    if time.monotonic() < getattr(_thread, "next_try", 0.0):
        raise RedisError("Redis has just failed")
    try:
        if kept := getattr(_thread, "connection", None):
            with suppress(ConnectionError):  # it may have died while it was idle
                return send(kept, *command)
        _thread.connection = connect()
        return send(_thread.connection, *command)
    except RedisError as exc:
        # After a failover the connection may lead to a replica, which refuses to count.
        _thread.connection, _thread.next_try = None, time.monotonic() + PAUSE
        metrics.FAIL_OPEN.inc()
        logger.warning("Redis does not count; this process does, for a second: %s", exc)
        raise


def connect() -> ConnectionInterface:
    """A connection to Redis. Each wait for it ends after `settings.REDIS_TIMEOUT`."""
    seconds = settings.REDIS_TIMEOUT
    # In RESP3 a server can announce its maintenance: then redis-py would wait 10 seconds.
    options = {"protocol": 2, "socket_timeout": seconds, "socket_connect_timeout": seconds}
    return ConnectionPool.from_url(settings.REDIS_URL, **options).make_connection()


def send(connection: ConnectionInterface, *command: Any) -> Any:
    connection.send_command(*command)  # type: ignore[no-untyped-call]
    return connection.read_response()


def check() -> None:
    """Raises an exception if Redis is out of reach or does not count.

    It responds to a PING when its memory is full, and while it is a replica.
    """
    if not settings.COUNT_IN_PROCESS:
        send(connect(), "INCR", "readiness")
