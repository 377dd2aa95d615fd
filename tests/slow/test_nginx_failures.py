"""nginx as deploy/ sets it up, when instances fail, or clients are slow or too many."""

import contextlib
import re
import resource
import select
import time
from collections.abc import Callable, Iterable, Iterator

import pytest
from django.db import connection, transaction

from config.api.errors import Busy, TooManyDownloads, Unavailable
from tests.support import factories
from tests.support.client import Response, forget_requests, golden
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange, request
from tests.support.server import ROOT, eventually, running

REQUESTS_OF_A_KEY, DOWNLOADS_OF_A_KEY = 6, 16  # at once: deploy/nginx.conf
Responses = Callable[[], list[Response]]


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
    page = pair.plain(pair.port, "/admin/login/")
    assert (page.status, page.json()) == (503, golden("unavailable"))
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


def waiting(nginx: Nginx, stack: contextlib.ExitStack, path: str, keys: Iterable[str]) -> Responses:
    """Sends requests that nobody reads; returns what gives the responses that have come."""
    connections = []
    for key in keys:
        connections.append(stack.enter_context(nginx.connect()))
        connections[-1].sendall(request(path, f"Authorization: Bearer {key}"))

    def come() -> list[Response]:
        ready = select.select(connections, [], [], 0)[0]
        return [exchange(connections.pop(connections.index(each)), b"") for each in ready]

    return come


def at_least(number: int, come: Responses) -> list[Response]:
    """The responses, when so many have come."""
    found: list[Response] = []
    while len(found) < number:
        new = eventually(come)
        assert new, found
        found += new
    return found


def fake_key(number: int) -> str:
    return f"dtd_{number:040}"


def assert_refused(response: Response, error: type[Unavailable]) -> None:
    assert response.status == 503
    assert response.json() == {"error": error.text}
    assert response.headers["retry-after"] == "5"
    assert response.headers["error-code"] == error.code


def test_nginx_refuses_what_is_more_than_an_instance_takes_and_ends_the_rest_in_time(
    nginx: Nginx,
) -> None:
    """PostgreSQL is silent, so that each request waits. Each has another key."""
    limit = max_conns("documents")
    nginx.database.silence()
    with contextlib.ExitStack() as stack:
        started = time.monotonic()
        come = waiting(nginx, stack, "/api/v1/documents", map(fake_key, range(limit + 3)))
        for each in at_least(3, come):
            assert_refused(each, Unavailable)
        assert time.monotonic() - started < 2
        # There is a thread left.
        other = waiting(nginx, stack, "/api/v1/me", [fake_key(99)])
        [response] = eventually(other)
        assert response.status == 503
        for each in at_least(limit, come):
            assert_refused(each, Unavailable)
        assert time.monotonic() - started < 9


def max_conns(kind: str) -> int:
    text = (ROOT / "deploy" / "upstreams.conf").read_text().partition(f"upstream {kind} ")[2]
    return int(re.findall(r"max_conns=(\d+)", text)[0])


def test_instances_have_two_threads_more_than_they_take_of_what_can_wait_alone() -> None:
    unit = (ROOT / "deploy" / "systemd" / "documents-api@.service").read_text()
    [threads] = re.findall(r"--blocking-threads (\d+)", unit)
    assert sum(map(max_conns, ("documents", "downloads", "events"))) == int(threads) - 2


def test_nginx_refuses_what_is_too_much_of_one_key_and_serves_the_others(
    pair: Nginx, acme: Tenant, umbrella: Tenant
) -> None:
    """Two instances, since one takes no more than a key may have."""
    document = factories.document(acme.workspace)
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("LOCK TABLE documents_document")
        with contextlib.ExitStack() as stack:
            come = waiting(pair, stack, "/api/v1/documents", [acme.raw] * 9)
            for refused in at_least(9 - REQUESTS_OF_A_KEY, come):
                assert_refused(refused, Busy)
            assert pair.get("/me", umbrella.raw).status == 200
            other = waiting(pair, stack, f"/api/v1/documents/{document.id}", [umbrella.raw])
            assert not other()  # it waits, as it would without the others
    assert pair.get(f"/documents/{document.id}", acme.raw).status == 200


def test_nginx_refuses_too_many_downloads_of_one_key_and_serves_its_other_requests(
    nginx: Nginx, acme: Tenant, umbrella: Tenant
) -> None:
    large = b"%PDF-" + b"x" * 20_000_000
    document, other = (
        factories.document(each.workspace, content=large) for each in (acme, umbrella)
    )
    path = f"/api/v1/documents/{document.id}/download"
    with contextlib.ExitStack() as stack:
        for _ in range(DOWNLOADS_OF_A_KEY):
            slow = stack.enter_context(nginx.connect())
            slow.sendall(request(path, f"Authorization: {acme.bearer}"))
            assert slow.recv(12) == b"HTTP/1.1 200"  # the first bytes only
        refused = nginx.get(f"/documents/{document.id}/download", acme.raw)
        assert_refused(refused, TooManyDownloads)
        assert nginx.get("/documents", acme.raw).status == 200
        assert nginx.get(f"/documents/{other.id}/download", umbrella.raw).status == 200
