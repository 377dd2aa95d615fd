"""`/healthz` and `/readyz`: what they say while a part is gone or silent, and what they hide."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db import connection
from pytest_django import Settings
from redis import RedisError

from apikeys.apps import check_counter
from tests.support import seals
from tests.support.client import Response
from tests.support.database import locked
from tests.support.factories import Tenant
from tests.support.nginx import Nginx
from tests.support.proxy import HOST, Proxy
from tests.support.redis_server import RedisServer
from tests.support.server import Server, eventually

LONGEST = 3.0  # seconds that a response may take, whatever is silent
PARTS = {"database": 503, "object_storage": 200, "counter": 200}  # the status without each part
CHECKS = {*PARTS, "audit_seals", "locks"}
# Without the database nothing is known of the audit log's seals and of locks.
FAILED = {name: {name} for name in PARTS} | {"database": {"database", "audit_seals", "locks"}}


def part(server: Server, name: str) -> Proxy:
    proxy: Proxy = getattr(server, {"object_storage": "store"}.get(name, name))
    return proxy


def states(response: Response) -> dict[str, str]:
    return {name: check["state"] for name, check in response.json()["checks"].items()}


def ready(server: Server) -> bool:
    return bool(server.request("/readyz").json()["status"] == "ok")


def test_health_is_200_and_touches_nothing(server: Server) -> None:
    for name in PARTS:
        part(server, name).refuse()
    response = server.request("/healthz")
    assert (response.status, response.json()) == (200, {"status": "ok"})
    assert response.headers["cache-control"] == "no-store"


def test_readiness_has_the_state_of_each_part_and_nothing_else(server: Server) -> None:
    assert eventually(lambda: ready(server))
    response = server.request("/readyz")
    assert response.status == 200
    assert response.headers["cache-control"] == "no-store"
    body = response.json()
    assert set(body) == {"status", "checks"}
    assert set(body["checks"]) == CHECKS
    for check in body["checks"].values():
        assert set(check) == {"state", "milliseconds"}
        assert check["milliseconds"] >= 0


@pytest.mark.parametrize("how", ["refuse", "silence"])
@pytest.mark.parametrize("name", PARTS)
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
    assert {check for check, state in states(response).items() if state == "failed"} == FAILED[name]
    assert set(states(response)) == CHECKS
    assert f"Not ready: {name}" in server.log()
    assert server.request("/healthz").status == 200
    server.restore()
    assert eventually(lambda: ready(server))


def test_readiness_with_all_parts_silent_responds_in_time(server: Server) -> None:
    assert eventually(lambda: ready(server))
    for name in PARTS:
        part(server, name).silence()
    assert eventually(lambda: set(states(server.request("/readyz")).values()) == {"failed"})
    time.sleep(1)
    started = time.monotonic()
    assert server.request("/readyz").status == 503
    assert time.monotonic() - started < LONGEST
    server.restore()
    assert eventually(lambda: ready(server))


def test_readiness_is_degraded_while_seals_are_late_or_the_last_verification_has_failed(
    as_owner: None, server: Server
) -> None:
    def seals_of(response: Response) -> tuple[int, str, str]:
        return response.status, response.json()["status"], states(response)["audit_seals"]

    def becomes(*expected: object) -> bool:
        return bool(eventually(lambda: seals_of(server.request("/readyz")) == expected))

    assert becomes(200, "ok", "ok")
    [old] = seals.written()
    seals.grow_older(old, minutes=11)
    assert becomes(200, "degraded", "failed")
    assert "Not ready: audit_seals: Audit entries have waited to be sealed" in server.log()
    seals.seal()
    assert becomes(200, "ok", "ok")
    seals.found_damaged()
    assert becomes(200, "degraded", "failed")
    seals.verified()  # which the serving role can say too
    assert seals_of(server.request("/readyz")) == (200, "degraded", "failed")


@pytest.mark.usefixtures("transactional_db")
def test_readiness_names_a_locked_table_and_only_the_log_names_who_has_locked_it(
    server: Server,
) -> None:
    assert eventually(lambda: ready(server))
    with locked("documents_document"):
        assert eventually(lambda: not ready(server))
        response = server.request("/readyz")
        assert (response.status, response.json()["status"]) == (200, "degraded")
        check = response.json()["checks"]["locks"]
        assert (check["state"], check["tables"]) == ("failed", ["documents_document"])
        assert set(check) == {"state", "milliseconds", "tables"}
        assert "documents_document is locked by pid" in server.log()
        assert "(documents_owner" in server.log()
        metric = 'documents_blocked_seconds{table="documents_document"} '
        assert eventually(lambda: metric in server.metrics())
    assert eventually(lambda: ready(server))
    assert metric not in server.metrics()


@pytest.mark.service
def test_readiness_notices_a_redis_that_responds_but_does_not_count(
    tmp_path: Path, settings: Settings
) -> None:
    with ExitStack() as stopping:
        redis = RedisServer(tmp_path / "redis")
        stopping.callback(redis.kill)
        settings.REDIS_URL = redis.url
        check_counter()
        redis.call("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(RedisError):
            check_counter()
        redis.call("CONFIG", "SET", "maxmemory", "0")
        check_counter()
        redis.call("REPLICAOF", HOST, redis.port)  # read-only from now on
        with pytest.raises(RedisError):
            check_counter()


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
                assert eventually(lambda: "the migration audit." in server.log() or ready(server))
                response = server.request("/readyz")
            finally:
                cursor.execute(renamed, ["audit", "elsewhere"])
        assert response.status == 503
        assert states(response)["database"] == "failed"
        assert "migrat" not in response.body.decode()
        assert "python manage.py migrate" in server.log()
        assert eventually(lambda: ready(server))
    finally:
        server.stop()


def test_readiness_is_cached_for_a_second(server: Server) -> None:
    assert eventually(lambda: ready(server))
    bodies = [server.request("/readyz").body for _ in range(20)]
    assert len(set(bodies)) < len(bodies)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_does_not_depend_on_host_header_or_https(
    nginx: Nginx, server: Server, path: str
) -> None:
    for each in (server, nginx):
        assert eventually(lambda: each.request(path, host="10.0.0.7:1234").status == 200)  # noqa: B023
    assert server.request(path, host="a b", x_forwarded_proto="http").status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_needs_no_key_and_counts_none(server: Server, acme: Tenant, path: str) -> None:
    before = server.get("/me", acme.raw).headers["x-ratelimit-remaining"]
    response = server.request(path, authorization=acme.bearer)
    assert response.status == 200
    assert "x-ratelimit-remaining" not in response.headers
    assert response.headers["request-id"]
    after = server.get("/me", acme.raw).headers["x-ratelimit-remaining"]
    assert int(after) in (int(before) - 1, 299)  # 299: the next minute has begun


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_has_head_and_no_other_method(server: Server, path: str) -> None:
    assert server.request(path, "HEAD").status == 200
    assert server.request(path, "POST").status == 405
