"""The rate limit: 300 requests a minute for each key, counted exactly.

Each window of each key has a counter of its own, in Redis or in this process, so counters are
never reset.
"""

import hashlib
import logging
import time
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import caches
from redis import RedisError
from redis.exceptions import NoScriptError
from rest_framework.throttling import BaseThrottle

from config.api.errors import TooManyRequests
from config.api.parameters import REQUESTS_PER_MINUTE, WINDOW
from config.api.request import ApiRequest
from config.runtime import metrics, redis
from config.runtime.breaker import BreakerOpen

logger = logging.getLogger(__name__)

_EXPIRY = 2 * WINDOW  # seconds: the clocks of several machines may differ
# A script runs as a whole: no counter is left without its expiry.
_INCREMENT = f"""
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], {_EXPIRY}) end
return count
"""
_SHA = hashlib.sha1(_INCREMENT.encode(), usedforsecurity=False).hexdigest()


class RedisCounter:
    """Counts in Redis, for any number of processes, in one round trip.

    Args:
        url: of the Redis database, as redis-py reads it.
        timeout: seconds that connecting and the response may take each.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._redis = redis.client(url, timeout)

    def increment(self, name: str) -> int:
        """Counts one request; returns how many have this name, this one included.

        Raises:
            redis.RedisError: Redis is out of reach or refuses.
        """
        try:
            return int(redis.call(self._redis, "EVALSHA", _SHA, 1, name))
        except NoScriptError:  # Redis has started since
            return int(redis.call(self._redis, "EVAL", _INCREMENT, 1, name))


class ProcessCounter:
    """Counts in this process's memory, for a service that is one process."""

    def increment(self, name: str) -> int:
        """As `RedisCounter.increment`, without its errors."""
        counters = caches["process"]
        counters.add(name, 0, _EXPIRY)
        return counters.incr(name)


class KeyThrottle(BaseThrottle):
    """Counts each request under its key and refuses those over the limit.

    Every response to a valid key, the refusal too, says what is left of the limit, so that a
    client can slow down before it is refused.

    When Redis is out of reach the request passes: reading documents matters more than counting
    reads.
    """

    counter: RedisCounter | ProcessCounter = (
        ProcessCounter()
        if settings.COUNT_IN_PROCESS
        else RedisCounter(settings.REDIS_URL, settings.REDIS_TIMEOUT)
    )

    def allow_request(self, request: ApiRequest, view: Any) -> bool:  # type: ignore[override]
        now = int(time.time())
        end = window_end(request.auth.id, now)
        try:
            with redis.breaker.call(RedisError):
                count = self.counter.increment(f"requests:{request.auth.id}:{end}")
        except (RedisError, BreakerOpen) as exc:
            metrics.FAIL_OPEN.labels("rate_limit").inc()
            if isinstance(exc, RedisError):  # at most once a second
                logger.warning("The rate limit's counter is out of reach; requests pass: %s", exc)
            return True
        request.response_headers.update(quota_headers(count, end - now))
        if count > REQUESTS_PER_MINUTE:
            raise TooManyRequests(REQUESTS_PER_MINUTE, end - now)
        return True


def window_end(key_id: UUID, now: int) -> int:
    """When a key's current window ends: 1 to 60 seconds after `now`.

    Each key's windows start at a different second of the minute, which its random id determines,
    so that a client's keys are not all reset together.

    Args:
        now: whole seconds since the epoch, like the result.
    """
    return now + WINDOW - (now + key_id.int) % WINDOW


def quota_headers(count: int, seconds: int) -> dict[str, str]:
    """What is left of the limit, for programs: draft-ietf-httpapi-ratelimit-headers, and the
    names that were common before it.

    Args:
        count: requests in this window, this one included.
        seconds: until the window ends.
    """
    left = max(0, REQUESTS_PER_MINUTE - count)
    return {
        "RateLimit-Policy": f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}',
        "RateLimit": f'"key";r={left};t={seconds}',
        "X-RateLimit-Limit": str(REQUESTS_PER_MINUTE),
        "X-RateLimit-Remaining": str(left),
        "X-RateLimit-Reset": str(seconds),
    }
