"""Redis behind an address that leads to another server after a failover, such as a virtual IP."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from config.runtime.redis import SignInCache, breaker, call, client
from django.core.cache import caches
from redis import Redis, RedisError

from apikeys.throttling import RedisCounter
from config.dev.s3_and_redis import redis_server
from config.runtime.ports import free_port
from tests.support.proxy import HOST, Proxy
from tests.support.server import eventually

PASSWORD = "p@ss/word"
OPTIONS = f'requirepass "{PASSWORD}"\nmasterauth "{PASSWORD}"\nrepl-diskless-sync-delay 0\n'


class RedisServer:
    """One redis-server process."""

    def __init__(self, folder: Path, options: str = "") -> None:
        folder.mkdir()
        self.port = free_port()
        file = folder / "redis.conf"
        file.write_text(f'bind {HOST}\nport {self.port}\ndir {folder}\nsave ""\n{OPTIONS}{options}')
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen([redis_server(), file], stdout=log, stderr=log)
        self.url = f"redis://:{quote(PASSWORD, safe='')}@{HOST}:{self.port}/0"
        self._client = Redis(host=HOST, port=self.port, password=PASSWORD, decode_responses=True)
        assert eventually(self._responds), (folder / "log").read_text()

    def call(self, *command: Any) -> Any:
        """The response to a command."""
        return self._client.execute_command(*command)  # type: ignore[no-untyped-call]

    def _responds(self) -> bool:
        try:
            return bool(self.call("PING"))
        except RedisError:
            return False

    def replication(self, name: str) -> Any:
        """A line of `INFO replication`."""
        return self.call("INFO", "replication").get(name)

    def kill(self) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()


class Addressed:
    """A master and a replica behind one address.

    Attributes:
        address: leads to the master.
        url: for REDIS_URL.
    """

    def __init__(self, folder: Path, stopping: ExitStack) -> None:
        self.master = RedisServer(folder / "master")
        stopping.callback(self.master.kill)
        self.replica = RedisServer(folder / "replica", f"replicaof {HOST} {self.master.port}\n")
        stopping.callback(self.replica.kill)
        assert eventually(lambda: self.replica.replication("master_link_status") == "up")
        self.address = Proxy(self.master.url)
        stopping.callback(self.address.stop)
        self.url = self.address.url

    def fail_over(self) -> None:
        """They change roles, and the address leads to the new master.

        Connections to the former master stay open; it refuses to count.
        """
        offset = "master_repl_offset"
        assert eventually(
            lambda: self.replica.replication(offset) == self.master.replication(offset)
        )
        self.replica.call("REPLICAOF", "NO", "ONE")
        self.master.call("REPLICAOF", HOST, self.replica.port)
        self.address.retarget(self.replica.url)


@pytest.fixture
def addressed(tmp_path: Path) -> Iterator[Addressed]:
    with ExitStack() as stopping:
        yield Addressed(tmp_path, stopping)


def test_redis_counter_counts_on_where_its_address_leads_after_one_failure(
    addressed: Addressed,
) -> None:
    """Also on connections that no thread used at that moment."""
    counting, name = RedisCounter(addressed.url, timeout=5), uuid4().hex

    def two_at_once() -> set[int]:
        addressed.address.silence()
        with ThreadPoolExecutor(2) as pool:
            counts = [pool.submit(counting.increment, name) for _ in range(2)]
            assert eventually(lambda: addressed.address.connections == 2)
            addressed.address.restore()
        return {count.result() for count in counts}

    assert two_at_once() == {1, 2}
    addressed.fail_over()
    with pytest.raises(RedisError, match="READONLY"):
        counting.increment(name)
    assert counting.increment(name) == 3
    assert two_at_once() == {4, 5}


def test_sign_in_cache_counts_on_where_its_address_leads_after_one_failure(
    addressed: Addressed,
) -> None:
    cache = SignInCache(addressed.url, {})
    with pytest.raises(ValueError, match="expired"):
        cache.incr("sign-ins")
    assert cache.add("sign-ins", 5, 300)
    assert not cache.add("sign-ins", 1, 300)
    addressed.fail_over()
    try:
        assert cache.incr("sign-ins") == 1  # of this process
        breaker.succeeded()
        assert cache.incr("sign-ins") == 6
    finally:
        breaker.succeeded()  # for the tests that follow
        caches["process"].clear()


def test_redis_connections_do_not_ask_for_resp3(tmp_path: Path) -> None:
    """A server that announces its maintenance in RESP3 makes redis-py wait 10 seconds."""
    server = RedisServer(tmp_path / "server")
    try:
        server.call("CONFIG", "RESETSTAT")
        RedisCounter(server.url, timeout=5).increment(uuid4().hex)
        call(client(server.url, 5), "SET", "sign-ins", 1)
        used = server.call("INFO", "commandstats")
        assert {"cmdstat_incr", "cmdstat_set"} <= used.keys()
        assert "cmdstat_hello" not in used
    finally:
        server.kill()
