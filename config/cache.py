"""The breaker for Redis, and the cache that counts sign-ins."""

from typing import Any

from django.core.cache import caches
from django_redis.cache import RedisCache
from redis import RedisError

from config.breaker import Breaker, BreakerOpen

# For all that uses Redis: while it does not respond, at most one request a second waits for it.
breaker = Breaker("counter", failures=1)


class SignInCache(RedisCache):  # type: ignore[misc] # it has no types
    """Counts in Redis; while Redis is out of reach in the cache `process`, in this process.

    django-ratelimit counts with `add`, `get` and `incr`. Other methods are those of django-redis.
    """

    def add(self, key: str, value: Any, timeout: float) -> bool:
        try:
            with breaker.call(RedisError):
                return bool(super().add(key, value, timeout))
        except (RedisError, BreakerOpen):
            return caches["process"].add(key, value, timeout)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            with breaker.call(RedisError):
                return super().get(key, default)
        except (RedisError, BreakerOpen):
            return caches["process"].get(key, default)

    def incr(self, key: str) -> int:
        try:
            with breaker.call(RedisError):
                return int(super().incr(key))
        except (RedisError, BreakerOpen):
            caches["process"].add(key, 0)  # `add` may have been the last that reached Redis
            return caches["process"].incr(key)
