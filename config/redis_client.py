"""The client of Redis, whether that is one server or several that Sentinel or Cluster manages."""

import functools
import threading
from collections.abc import Callable
from typing import Any

from redis import Redis, RedisCluster, RedisError
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.retry import Retry
from redis.sentinel import Sentinel

from config.redis_url import parse


def options(timeout: float) -> dict[str, Any]:
    """How redis-py connects to a server.

    Args:
        timeout: seconds that connecting and the response may take each.
    """
    return {
        "socket_connect_timeout": timeout,
        "socket_timeout": timeout,
        # In RESP3 a server can announce its maintenance: then redis-py would wait 10 seconds.
        "protocol": 2,
    }


class RedisClient:
    """Sends commands about one key to the server that has it, for all threads.

    It follows Sentinel when that promotes another server, and Cluster when that moves a key.

    Args:
        url: as `config.redis_url` describes it.
        timeout: seconds that connecting and the response may take each, for each server that is
            asked. Nothing is tried twice.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._found = url, parse(url)
        self._options = options(timeout)
        self._client: Redis | RedisCluster | None = None

    def call(self, *command: Any) -> Any:
        """The response to a command.

        Raises:
            redis.RedisError: Redis is out of reach or refuses.
        """
        try:
            return self._connected().execute_command(*command)  # type: ignore[no-untyped-call]
        except RedisError:
            if isinstance(self._client, Redis):
                # After a failover these connections may lead to a replica, which refuses to count.
                self._client.connection_pool.disconnect(inuse_connections=False)
            raise
        except Exception as exc:
            # For a cluster that has no such node any more, redis-py raises errors of other classes.
            raise RedisError(str(exc)) from exc

    def _connected(self) -> Redis | RedisCluster:
        """The client; that of a cluster asks it for its servers when it is made."""
        # Without a lock: threads that wait for silent servers must not do so one after the other.
        self._client = self._client or self._make()
        return self._client

    def _make(self) -> Redis | RedisCluster:
        url, once = self._found, Retry(NoBackoff(), 0)
        if url is None:
            return Redis.from_url(self._url, **self._options, retry=once)
        login: dict[str, Any] = {"username": url.username, "password": url.password, "ssl": url.tls}
        if url.master is None:
            nodes = [ClusterNode(*each) for each in url.hosts]  # type: ignore[no-untyped-call]
            # Only these are asked where a key is: the others may be many, and all silent.
            cluster = RedisCluster(
                startup_nodes=nodes,
                dynamic_startup_nodes=False,
                retry=once,
                **login,
                **self._options,
            )
            manager = cluster.nodes_manager
            manager.initialize = _by_one_thread(manager.initialize)  # type: ignore[method-assign]
            return cluster
        of_sentinels = {"password": url.sentinel_password, "ssl": url.tls, "retry": once}
        sentinel = Sentinel(url.hosts, sentinel_kwargs=self._options | of_sentinels)  # type: ignore[no-untyped-call]
        client: Redis = sentinel.master_for(  # type: ignore[no-untyped-call]
            url.master, db=url.database, retry=once, **login, **self._options
        )
        return client


def _by_one_thread(ask: Callable[..., None]) -> Callable[..., None]:
    """The same function; while a thread is in it, it does nothing for the others.

    redis-py asks a cluster where keys are after each command that fails. Its own lock would make
    all threads wait for silent servers one after the other.
    """
    asking = threading.Lock()

    def once(*args: Any, **kwargs: Any) -> None:
        if asking.acquire(blocking=False):
            try:
                ask(*args, **kwargs)
            finally:
                asking.release()

    return once


@functools.cache
def connect(url: str, timeout: float) -> RedisClient:
    """The client that all threads share."""
    return RedisClient(url, timeout)
