"""Several Redis servers: a cluster, Sentinel, or one address that leads to another server."""

import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import ImproperlyConfigured
from redis import RedisError

from apikeys.counter import ManagedRedisCounter, RedisCounter, choose
from apikeys.throttling import window_end
from config.cache import SignInCache, breaker
from config.env import redis as redis_variable
from config.redis_client import RedisClient
from config.redis_url import RedisUrl, parse
from tests.factories import Tenant
from tests.proxy import HOST
from tests.redis_servers import Addressed, Cluster, Watched
from tests.server import ROOT, Server, eventually
from tests.test_rate_limit import concurrent, quota, with_window


@pytest.fixture(params=[Cluster, Watched], ids=["cluster", "sentinel"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster | Watched]:
    with ExitStack() as stopping:
        yield request.param(tmp_path, stopping)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with ExitStack() as stopping:
        yield Cluster(tmp_path, stopping)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with ExitStack() as stopping:
        yield Watched(tmp_path, stopping)


@pytest.fixture
def addressed(tmp_path: Path) -> Iterator[Addressed]:
    with ExitStack() as stopping:
        yield Addressed(tmp_path, stopping)


@pytest.fixture
def served(
    servers: Cluster | Watched, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server that counts there."""
    server = Server(tmp_path_factory.mktemp("server"), REDIS_URL=servers.url)
    server.wait()
    yield server
    server.stop()


def counter(servers: Cluster | Watched) -> ManagedRedisCounter:
    return ManagedRedisCounter(servers.url, settings.REDIS_TIMEOUT)


def test_managed_counter_counts_each_window_of_each_key_from_1(servers: Cluster | Watched) -> None:
    counting = counter(servers)
    for key_id in (uuid4() for _ in range(20)):
        assert [counting.increment(key_id, 1_000_060) for _ in range(3)] == [1, 2, 3]
        assert counting.increment(key_id, 1_000_120) == 1


def test_throttle_lets_exactly_300_of_1000_concurrent_requests_pass(
    served: Server, acme: Tenant
) -> None:
    responses = concurrent(acme, [served])
    assert Counter(response.status for response in responses) == {200: 300, 429: 700}


def counted_by_the_master_to_be_lost(servers: Cluster | Watched, tenant: Tenant) -> Tenant:
    """The tenant with a key whose counter `lose_master` takes."""
    while True:
        tenant = with_window(tenant, 45)
        end = window_end(tenant.key.id, int(time.time()))
        if servers.has_lost(f"requests:{tenant.key.id}:{end}"):
            return tenant


def test_throttle_counts_on_in_the_server_that_is_promoted(
    servers: Cluster | Watched, served: Server, acme: Tenant
) -> None:
    acme = counted_by_the_master_to_be_lost(servers, acme)

    def left() -> str | None:
        response = served.get("/me", acme.raw)
        assert response.status == 200
        return response.headers.get("x-ratelimit-remaining")

    assert left() == "299"
    servers.lose_master()
    assert left() is None
    assert int(eventually(left) or 299) < 299  # the replica had the count


def test_throttle_lets_requests_pass_while_all_servers_are_silent(
    servers: Cluster | Watched, served: Server, acme: Tenant
) -> None:
    acme = with_window(acme, 45)
    assert quota(served.get("/me", acme.raw))
    for each in servers.all:
        each.freeze()
    responses = [served.get("/me", acme.raw) for _ in range(20)]
    assert {response.status for response in responses} == {200}
    assert not any(map(quota, responses))


def test_managed_counter_follows_a_key_to_another_server(cluster: Cluster) -> None:
    counting, key_id = counter(cluster), uuid4()
    assert counting.increment(key_id, 1_000_060) == 1
    cluster.move(f"requests:{key_id}:1000120")
    assert [counting.increment(key_id, 1_000_120) for _ in range(3)] == [1, 2, 3]


def test_redis_client_gives_up_when_no_server_is_left(servers: Cluster | Watched) -> None:
    """Also one that never reached any, and has no list of servers yet."""
    used, late = (RedisClient(servers.url, settings.REDIS_TIMEOUT) for _ in range(2))
    used.call("PING")
    for each in servers.all:
        each.kill()
    for client in (used, late):
        for _ in range(2):
            with pytest.raises(RedisError):
                client.call("GET", "a")


def test_redis_client_gives_up_in_all_threads_at_once_while_all_servers_are_silent(
    servers: Cluster | Watched,
) -> None:
    """Also by a client that never reached any."""
    used, late = (RedisClient(servers.url, settings.REDIS_TIMEOUT) for _ in range(2))
    used.call("PING")
    for each in servers.all:
        each.freeze()

    def seconds(client: RedisClient) -> float:
        start = time.monotonic()
        with pytest.raises(RedisError):
            client.call("GET", str(uuid4()))
        return time.monotonic() - start

    with ThreadPoolExecutor(7) as pool:
        for client in (used, used, late):
            # One thread after the other would need 5 seconds: the deadline of a request.
            assert max(pool.map(seconds, [client] * 7)) < 3


def test_sign_in_cache_counts_on_in_the_server_that_is_promoted(servers: Cluster | Watched) -> None:
    cache = SignInCache(servers.url, {})
    names = (f"sign-ins-{number}" for number in range(1000))
    name = next(name for name in names if servers.has_lost(name))
    with pytest.raises(ValueError, match="expired"):
        cache.incr(name)
    assert cache.get(name, 0) == 0
    assert cache.add(name, 1, 300)
    assert not cache.add(name, 1, 300)
    assert [cache.incr(name) for _ in range(2)] == [2, 3]
    servers.lose_master()
    try:
        assert cache.incr(name) == 1  # of this process
        assert eventually(lambda: cache.get(name) == 3)
        assert cache.incr(name) == 4
    finally:
        breaker.succeeded()  # for the tests that follow
        caches["process"].clear()


def test_redis_counter_counts_on_where_its_address_leads_after_one_failure(
    addressed: Addressed,
) -> None:
    """Also on connections that no thread used at that moment."""
    counting, key_id = RedisCounter(addressed.url, timeout=5), uuid4()

    def two_at_once() -> set[int]:
        addressed.address.silence()
        with ThreadPoolExecutor(2) as pool:
            counts = [pool.submit(counting.increment, key_id, 1_000_060) for _ in range(2)]
            assert eventually(lambda: addressed.address.connections == 2 and not counting._free)
            addressed.address.restore()
        return {count.result() for count in counts}

    assert two_at_once() == {1, 2}
    addressed.fail_over()
    with pytest.raises(RedisError, match="READONLY"):
        counting.increment(key_id, 1_000_060)
    assert counting.increment(key_id, 1_000_060) == 3
    assert two_at_once() == {4, 5}


def test_managed_counter_counts_on_in_the_new_master_after_one_failure(watched: Watched) -> None:
    counting, key_id = counter(watched), uuid4()
    assert counting.increment(key_id, 1_000_060) == 1
    watched.fail_over()
    with pytest.raises(RedisError):
        counting.increment(key_id, 1_000_060)
    assert [counting.increment(key_id, 1_000_060) for _ in range(2)] == [2, 3]


def test_sign_in_cache_counts_on_where_its_address_leads_after_one_failure(
    addressed: Addressed,
) -> None:
    cache = SignInCache(addressed.url, {})
    assert cache.add("sign-ins", 5, 300)
    addressed.fail_over()
    try:
        assert cache.incr("sign-ins") == 1  # of this process
        breaker.succeeded()
        assert cache.incr("sign-ins") == 6
    finally:
        breaker.succeeded()  # for the tests that follow
        caches["process"].clear()


@pytest.mark.parametrize("kind", [Addressed, Cluster, Watched])
def test_redis_connections_do_not_ask_for_resp3(
    tmp_path: Path, kind: Callable[[Path, ExitStack], Addressed | Cluster | Watched]
) -> None:
    """A server that announces its maintenance in RESP3 makes redis-py wait 10 seconds."""
    with ExitStack() as stopping:
        servers = kind(tmp_path, stopping)
        master = servers.all[0]
        master.call("CONFIG", "RESETSTAT")
        counting, client = choose(servers.url, timeout=5), RedisClient(servers.url, timeout=5)
        for number in range(20):  # in a cluster, some are the first master's
            counting.increment(UUID(int=number), 1_000_060)
            client.call("SET", f"sign-ins-{number}", 1)
        used = master.call("INFO", "commandstats")
        assert {"cmdstat_incr", "cmdstat_set"} <= used.keys()
        assert "cmdstat_hello" not in used


URLS = {
    "redis://a/0": None,
    "redis+sentinel://a,b:1/counters": RedisUrl(
        [("a", 26379), ("b", 1)], tls=False, username=None, password=None, master="counters"
    ),
    "rediss+sentinel://me:p%40ss@a/counters/2?sentinel_password=s%26": RedisUrl(
        [("a", 26379)], True, "me", "p@ss", "counters", 2, "s&"
    ),
    "rediss+cluster://:p%2F@[::1]:7000,b": RedisUrl(
        [("::1", 7000), ("b", 6379)], tls=True, username=None, password="p/"
    ),
}


@pytest.mark.parametrize("url", URLS)
def test_redis_url_names_sentinels_and_clusters(url: str) -> None:
    assert parse(url) == URLS[url]


@pytest.mark.parametrize("url", ["rediss+sentinel://{}/counters", "rediss+cluster://{}"])
def test_redis_url_with_rediss_begins_with_tls(url: str) -> None:
    with socket.create_server((HOST, 0)) as listener, ThreadPoolExecutor(1) as pool:
        host, port = listener.getsockname()
        counting = ManagedRedisCounter(url.format(f"{host}:{port}"), timeout=5)
        count = pool.submit(counting.increment, uuid4(), 60)
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(2) == b"\x16\x03"  # a handshake
        listener.close()
        with pytest.raises(RedisError):
            count.result()


GUIDE = (ROOT / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("url", re.findall(r"^REDIS_URL=(.+)$", GUIDE, re.MULTILINE))
def test_redis_urls_of_the_guide_are_valid(url: str) -> None:
    found = parse(url)
    assert found is not None
    assert len(found.hosts) == 3
    assert found.password == "PASSWORD"


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://:secret@a,b",
        "redis+sentinel://:secret@/counters",
        "redis+sentinel://:secret@a/counters/x",
        "redis+cluster://:secret@",
        "redis+cluster://:secret@a,,b",
        "redis+cluster://:secret@a/1",
        "redis+cluster://:sec/ret@a",
        "redis+cluster://:secret@a:port",
        "redis+cluster://:secret@[a",
    ],
)
def test_redis_variable_that_is_not_valid_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(ImproperlyConfigured) as caught:
        redis_variable("REDIS_URL", help="")
    assert str(caught.value) == (
        "REDIS_URL must be redis://HOST:PORT/NUMBER, redis+cluster://HOST:PORT,HOST:PORT or "
        "redis+sentinel://HOST:PORT,HOST:PORT/MASTER/NUMBER."
    )
