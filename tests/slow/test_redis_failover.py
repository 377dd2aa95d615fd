"""Redis behind an address that leads to another server after a failover, such as a virtual IP."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.cache import caches
from pytest_django import Settings

from config import cache
from tests.support.proxy import HOST, Proxy
from tests.support.redis_service import RedisServer


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[RedisServer]]:
    """Two Redis servers, which this thread's connection does not lead to yet."""
    made = [RedisServer(tmp_path / name) for name in ("master", "other")]
    cache._thread = threading.local()
    yield made
    cache._thread = threading.local()
    caches["default"].clear()
    for each in made:
        each.kill()


def test_counter_counts_on_where_its_address_leads_a_second_after_a_failover(
    servers: list[RedisServer], settings: Settings
) -> None:
    master, other = servers
    address, name, counter = Proxy(master.url), uuid4().hex, caches["counters"]
    settings.REDIS_URL = address.url
    try:
        assert counter.add(name, 5, 60)
        other.call("SET", name, 5)  # as replication does
        # The connection stays open; what was the master refuses to count.
        master.call("REPLICAOF", HOST, other.port)
        address.retarget(other.url)
        assert counter.incr(name) == 1  # of this process
        time.sleep(cache.PAUSE)
        assert counter.incr(name) == 6
        assert other.call("GET", name) == "6"
    finally:
        address.stop()
