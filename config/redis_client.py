"""The client of Redis."""

import functools
from typing import Any

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry


def options(timeout: float) -> dict[str, Any]:
    """How redis-py connects.

    Args:
        timeout: seconds that connecting and the response may take each. Nothing is tried twice.
    """
    return {
        "socket_connect_timeout": timeout,
        "socket_timeout": timeout,
        # In RESP3 a server can announce its maintenance: then redis-py would wait 10 seconds.
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }


class RedisClient:
    """Sends commands for all threads.

    Args:
        url: of the Redis database, as redis-py reads it.
        timeout: seconds, as in `options`.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._client = Redis.from_url(url, **options(timeout))

    def call(self, *command: Any) -> Any:
        """The response to a command.

        Raises:
            redis.RedisError: Redis is out of reach or refuses.
        """
        try:
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except RedisError:
            # After a failover these connections may lead to a replica, which refuses to count.
            self._client.connection_pool.disconnect(inuse_connections=False)
            raise


@functools.cache
def connect(url: str, timeout: float) -> RedisClient:
    """The client that all threads share."""
    return RedisClient(url, timeout)
