"""nginx as deploy/ sets it up, when instances fail, or clients are slow or too many."""

import contextlib
import re
import resource
import select
import time
from collections.abc import Iterator

import pytest

from tests.support.client import forget_requests, golden
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange, request
from tests.support.server import ROOT, eventually, running


@pytest.fixture
def pair(
    django_db_setup: None, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nginx]:
    """nginx in front of two instances that a test may kill."""
    with running(Nginx(tmp_path_factory.mktemp("pair"), instances=2)) as pair:
        yield pair


def test_nginx_uses_the_other_instance_and_says_503_without_any(pair: Nginx, acme: Tenant) -> None:
    def used() -> set[str]:
        ids = [pair.get("/me", acme.raw).headers["request-id"] for _ in range(6)]
        return {pair.logged(id)["upstream"] for id in ids}

    # nginx leaves an instance alone for fail_timeout that did not listen yet when it was tried.
    assert eventually(lambda: len(used()) == 2)
    forget_requests()  # there may have been more than a minute's limit
    assert pair.second is not None
    pair.second.kill()
    assert {pair.get("/me", acme.raw).status for _ in range(20)} == {200}
    pair.kill()
    response = pair.get(f"/nothing?q={acme.raw}", acme.raw)
    assert response.status == 503
    assert response.json() == golden("unavailable")
    assert response.headers["retry-after"] == "5"
    line = pair.logged(response.headers["request-id"])
    assert line["upstream_milliseconds"] is None or line["upstream_milliseconds"] >= 0
    for path in ("/admin/", "/admin/login/"):
        page = pair.plain(pair.port, path)
        assert page.status == 503
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert b"The service cannot be reached right now." in page.body
        assert page.headers["retry-after"] == "5"
    assert acme.raw[12:] not in pair.written()  # error.log included


def test_nginx_passes_a_frozen_instance_by(pair: Nginx, acme: Tenant) -> None:
    assert pair.second is not None
    for process in pair.second.processes():
        process.suspend()
    try:
        started = time.monotonic()
        statuses: list[int] = []
        while time.monotonic() - started < 40 and statuses[-8:] != [200] * 8:
            statuses.append(pair.get("/me", acme.raw).status)
        # Each request that meets it ends after proxy_read_timeout; after two, nginx avoids it.
        assert set(statuses) <= {200, 503}
        assert statuses.count(503) <= 4
        assert statuses[-8:] == [200] * 8
    finally:
        for process in pair.second.processes():
            process.resume()


def test_nginx_serves_others_while_clients_send_half_a_request_or_nothing(
    gate: Nginx, acme: Tenant
) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.ExitStack() as open_connections:
        for _ in range(3000):
            open_connections.enter_context(gate.connect())
        for _ in range(300):
            connection = open_connections.enter_context(gate.tls())
            connection.sendall(b"GET /api/v1/me HTTP/1.1\r\nHost: loc")
        for _ in range(200):
            connection = open_connections.enter_context(gate.tls())
            connection.sendall(request("/admin/login/", "Content-Length: 1000", method="POST"))
            connection.sendall(b"c")
        assert [gate.get("/me", acme.raw).status for _ in range(20)] == [200] * 20


def test_nginx_refuses_at_once_what_is_more_than_an_instance_takes(
    nginx: Nginx,
) -> None:
    instances = (ROOT / "deploy" / "upstreams.conf").read_text().partition("upstream api ")[2]
    limit = int(re.findall(r"max_conns=(\d+)", instances)[0])
    beyond = 10
    nginx.database.silence()
    with contextlib.ExitStack() as waiting:
        connections = [waiting.enter_context(nginx.connect()) for _ in range(limit + beyond)]
        for number, connection in enumerate(connections):  # each with another key
            connection.sendall(request("/api/v1/me", f"Authorization: Bearer dtd_{number:040}"))
        assert eventually(lambda: len(select.select(connections, [], [], 0)[0]) >= beyond)
        for connection in select.select(connections, [], [], 0)[0]:
            refused = exchange(connection, b"")
            assert refused.status == 503
            assert refused.json() == golden("unavailable")
            assert refused.headers["retry-after"] == "5"
