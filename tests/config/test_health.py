"""`/healthz` and `/readyz`: what they say while a part is gone or silent, and what they hide."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings
from redis import RedisError

from apikeys.usage.middleware import BUFFER
from audit.monitoring import audit_log_writable
from config import cache, health
from config.connections import fetch
from config.request import metrics
from tests.support import server as servers
from tests.support.client import Response, get
from tests.support.database import no_entries, read_only
from tests.support.factories import Tenant
from tests.support.proxy import HOST, Proxy
from tests.support.redis_service import RedisServer
from tests.support.server import UNKNOWN_KEY, Server, eventually, running

LONGEST = 2.0  # seconds that a response may take, whatever is silent
PARTS = {"database": 503, "object_storage": 200, "counter": 200}  # the status without each part


def part(server: Server, name: str) -> Proxy:
    proxy: Proxy = getattr(server, {"object_storage": "store"}.get(name, name))
    return proxy


def states(response: Response) -> dict[str, str]:
    found: dict[str, str] = response.json()["checks"]
    return found


def ready(server: Server) -> bool:
    return bool(server.request("/readyz").json()["status"] == "ok")


def test_readiness_has_the_state_of_each_part_and_nothing_else(server: Server) -> None:
    assert eventually(lambda: ready(server))
    response = server.request("/readyz")
    assert response.status == 200
    assert response.headers["cache-control"] == "no-store"
    parts = ("database", "audit_log", "counter", "object_storage")
    assert response.json() == {"status": "ok", "checks": dict.fromkeys(parts, "ok")}


@pytest.mark.parametrize(
    ("name", "how"), [("database", "refuse"), *((name, "silence") for name in PARTS)]
)
def test_readiness_without_a_part_responds_in_time_and_heals(
    server: Server, name: str, how: str
) -> None:
    assert eventually(lambda: ready(server))
    getattr(part(server, name), how)()
    assert eventually(lambda: not ready(server))
    time.sleep(1)  # the result is older than its cache
    started = time.monotonic()
    response = server.request("/readyz")
    assert time.monotonic() - started < LONGEST
    assert response.status == PARTS[name]
    assert response.json()["status"] == ("failed" if PARTS[name] == 503 else "degraded")
    assert states(response)[name] == "failed"
    assert f"Not ready: {name}" in server.log()
    assert server.request("/healthz").status == 200
    server.restore()
    assert eventually(lambda: ready(server))


def test_readiness_with_all_parts_silent_responds_in_time(server: Server) -> None:
    assert eventually(lambda: ready(server))
    for name in PARTS:
        part(server, name).silence()
    unknown = {"audit_log": "unknown", "counter": "unknown", "object_storage": "unknown"}
    expected = {"database": "failed", **unknown}  # the others were not reached
    assert eventually(lambda: states(server.request("/readyz")) == expected)
    time.sleep(1)
    started = time.monotonic()
    assert server.request("/readyz").status == 503
    assert time.monotonic() - started < LONGEST
    response = server.request("/healthz")  # touches nothing
    assert (response.status, response.json()) == (200, {"status": "ok"})
    server.restore()
    assert eventually(lambda: ready(server))


def test_pages_are_a_503_within_seconds_while_the_database_does_not_respond(
    transactional_db: None, tmp_path: Path
) -> None:
    with running(Server(tmp_path, ROLE="pages")) as server:
        assert eventually(lambda: server.request("/admin/login/").status == 200)
        server.database.silence()
        time.sleep(1.1)  # the last result is too old
        started = time.monotonic()
        response = server.request("/admin/login/")
        assert time.monotonic() - started < 5
        assert (response.status, response.headers["retry-after"]) == (503, "5")
        assert b"The database cannot be asked at present" in response.body
        time.sleep(1.1)
        with ThreadPoolExecutor(2) as clients:  # also those that come while one asks again
            found = clients.map(server.request, ["/admin/login/"] * 2)
            assert [each.status for each in found] == [503, 503]
        server.restore()
        assert eventually(lambda: server.request("/admin/login/").status == 200)


def test_readiness_without_writing_is_degraded(server: Server, acme: Tenant) -> None:
    assert eventually(lambda: ready(server))
    for without in (no_entries, read_only):
        with without():
            assert eventually(lambda: states(server.request("/readyz"))["audit_log"] == "failed")
            response = server.request("/readyz")
            assert (response.status, response.json()["status"]) == (200, "degraded")
            assert states(response)["database"] == "ok"
            assert server.get("/documents", acme.raw).status == 200
        assert eventually(lambda: ready(server))


@pytest.mark.slow
def test_readiness_is_true_where_the_first_of_several_hosts_is_dead(
    transactional_db: None, tmp_path: Path
) -> None:
    url = urlsplit(servers.test_database_url())
    with ExitStack() as stopping:
        dead = Proxy(url.geturl())
        stopping.callback(dead.stop)
        dead.silence()
        hosts = f"?host={HOST},{HOST}&port={urlsplit(dead.url).port},{url.port}"
        several = f"{url.scheme}://{url.username}:{url.password}@{url.path}{hosts}"
        server = stopping.enter_context(running(Server(tmp_path, DATABASE_URL=several)))
        assert eventually(lambda: ready(server))
        time.sleep(health.CACHE_SECONDS + 0.1)  # the last result is too old
        assert ready(server)


def test_readiness_writes_to_the_disk_of_postgresql(transactional_db: None) -> None:
    def written() -> int:
        fetch("SELECT pg_stat_force_next_flush()", [])  # at the end of this transaction
        sql = "SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()"
        return int(fetch(sql, [])[0][0])

    before = written()
    assert [each.id for each in audit_log_writable(databases=["default"])] == ["audit.D002"]
    assert written() > before + 500_000


def test_readiness_notices_a_redis_that_responds_but_does_not_count(
    tmp_path: Path, settings: Settings
) -> None:
    with ExitStack() as stopping:
        redis = RedisServer(tmp_path / "redis")
        stopping.callback(redis.kill)
        settings.REDIS_URL = redis.url
        cache.check()
        redis.call("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(RedisError):
            cache.check()
        redis.call("CONFIG", "SET", "maxmemory", "0")
        cache.check()
        redis.call("REPLICAOF", HOST, redis.port)  # read-only from now on
        with pytest.raises(RedisError):
            cache.check()


@pytest.mark.slow
@pytest.mark.usefixtures("as_owner")
def test_readiness_without_a_migration_is_503_until_it_is_applied(
    django_db_setup: None, transactional_db: None, tmp_path: Path
) -> None:
    renamed = "UPDATE django_migrations SET app = %s WHERE app = %s"
    server = Server(tmp_path)
    server.database.refuse()  # so that the server's start does not notice
    try:
        server.wait()
        with connection.cursor() as cursor:
            cursor.execute(renamed, ["elsewhere", "audit"])
            try:
                server.restore()
                assert eventually(lambda: "missing: audit." in server.log() or ready(server))
                response = server.request("/readyz")
            finally:
                cursor.execute(renamed, ["audit", "elsewhere"])
        assert response.status == 503
        assert states(response)["database"] == "failed"
        assert "lacks" not in response.body.decode()
        assert eventually(lambda: ready(server))
    finally:
        server.stop()


def test_readiness_of_a_silent_part_holds_one_thread_however_many_ask(
    server: Server, acme: Tenant
) -> None:
    assert eventually(lambda: ready(server))
    server.store.silence()
    time.sleep(health.CACHE_SECONDS + 0.1)  # the last result is too old
    with ThreadPoolExecutor(33) as threads:
        asking = [threads.submit(server.request, "/readyz") for _ in range(100)]
        while not all(each.done() for each in asking):
            began = time.monotonic()
            assert server.get("/me", acme.raw).status == 200
            assert time.monotonic() - began < health.DEADLINE_SECONDS
            time.sleep(0.1)  # a key may make 300 requests a minute
    assert {each.result().status for each in asking} == {200}


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_health_needs_nothing_of_either_process_and_is_no_refused_request(
    monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    """No Host header of ours, no key and, since this test has none, no database."""
    monkeypatch.setattr(health, "_result", dict.fromkeys(health.PARTS, "failed"))
    monkeypatch.setattr(health, "_expires", time.monotonic() + 60)
    monkeypatch.setattr(metrics, "readers", [])  # they do without it, but try
    BUFFER.take()
    api = get(path, f"Bearer {UNKNOWN_KEY}", method, host="a b").status
    browser = Client(enforce_csrf_checks=True)
    page = browser.generic(method, path, headers={"host": "a b"}).status_code
    expected = 405 if method == "POST" else 503 if path == "/readyz" else 200
    assert (api, page) == (expected, expected)
    assert not BUFFER.refused
