"""The shared counter in Redis, in one round trip where django-redis takes two or three."""

import threading
from typing import Any

from django_redis.client import DefaultClient
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

KEPT = 120  # seconds: longer than a window, which has a counter of its own
_COUNT = """
local count = redis.call('INCRBY', KEYS[1], ARGV[1])
if count == tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return count
"""
_asked = threading.local()


class CounterClient(DefaultClient):  # type: ignore[misc] # it has no types
    """django-redis' client for a cache that django-ratelimit alone uses: it adds a counter and
    then, when there was one, increments it."""

    def add(self, key: str, value: Any, timeout: Any = None, **_: Any) -> bool:
        """Says that there is a counter, without asking: `incr` makes the one that is missing.

        Args:
            timeout: seconds that this thread's next counter is kept if it is a new one.
        """
        _asked.timeout = timeout
        return False

    def incr(self, key: str, delta: int = 1, **_: Any) -> int:
        """Adds to a counter, which starts at 0.

        Raises:
            ConnectionInterrupted: Redis is out of reach; the cache ignores it and returns None.
        """
        name = self.make_key(key)
        client = self.get_client(write=True)
        try:
            return int(client.eval(_COUNT, 1, name, delta, _asked.timeout))
        except RedisError as exc:
            raise ConnectionInterrupted(connection=client) from exc
