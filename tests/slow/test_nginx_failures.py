"""nginx as deploy/ sets it up, when instances fail, or clients are slow or too many."""

import contextlib
import itertools
import re
import select
import socket
import threading
from pathlib import Path

import pytest

from tests.support import factories, staff
from tests.support.client import golden
from tests.support.database import locked
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange, request
from tests.support.proxy import address_of
from tests.support.server import ROOT, eventually, running
from workspaces.accounts import known_browser

DOWNLOADS_OF_A_KEY = 16  # at once: deploy/nginx.conf
PAGES_OF_AN_ADDRESS, STATIC_FILES_OF_AN_ADDRESS = 6, 32
STRANGERS = ["127.0.0.2", "127.0.0.4"]
STRANGER, NEIGHBOUR = STRANGERS[0], "127.0.0.3"


def test_nginx_is_a_503_without_any_instance_and_logs_no_key(
    django_db_setup: None, transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    with running(Nginx(tmp_path)) as nginx:
        nginx.kill()
        nginx.pages.kill()
        response = nginx.get(f"/nothing?q={acme.raw}", acme.raw)
        assert (response.status, response.json()) == (503, golden("unavailable"))
        assert response.headers["retry-after"] == "5"
        page = nginx.plain(nginx.port, "/admin/login/")
        assert (page.status, page.json()) == (503, golden("unavailable"))
        assert acme.raw[12:] not in nginx.written()  # error.log included


def fake_key(number: int) -> str:
    return f"dtd_{number:040}"


def max_conns(kind: str) -> int:
    text = (ROOT / "deploy" / "upstreams.conf").read_text().partition(f"upstream {kind} ")[2]
    return int(re.findall(r"max_conns=(\d+)", text)[0])


def test_threads_are_more_than_what_may_wait_in_them() -> None:
    instance, pages = (
        (ROOT / "deploy" / "systemd" / f"documents-api{name}.service").read_text()
        for name in ("@", "-pages")
    )
    [threads] = re.findall(r"BLOCKING_THREADS=(\d+)", instance)
    assert sum(map(max_conns, ("documents", "downloads", "events"))) == int(threads) - 2
    [threads] = re.findall(r"--blocking-threads (\d+)", pages)
    assert PAGES_OF_AN_ADDRESS + max_conns("sign_in") == int(threads) - 1


def test_nginx_refuses_too_many_downloads_of_one_key_and_serves_its_other_requests(
    nginx: Nginx, acme: Tenant, umbrella: Tenant
) -> None:
    large = b"%PDF-" + b"x" * 20_000_000
    document, other = (
        factories.document(each.workspace, content=large) for each in (acme, umbrella)
    )
    path = f"/api/v1/documents/{document.id}/download"
    with contextlib.ExitStack() as stack:
        for number in range(DOWNLOADS_OF_A_KEY):
            slow = stack.enter_context(nginx.connect(address_of(number)))
            slow.sendall(request(path, f"Authorization: {acme.bearer}"))
            assert slow.recv(12) == b"HTTP/1.1 200"  # the first bytes only
        refused = nginx.get(f"/documents/{document.id}/download", acme.raw)
        assert (refused.status, refused.json()) == (503, golden("too_many_downloads"))
        assert refused.headers["error-code"] == "too_many_downloads"
        assert refused.headers["retry-after"] == "5"
        assert nginx.get("/documents", acme.raw).status == 200
        assert nginx.get(f"/documents/{other.id}/download", umbrella.raw).status == 200


ATTACKS = {  # what one address requests, and what another one does meanwhile
    "/api/v1/documents": "/api/v1/documents?limit=25",
    "/api/v1/documents/x/download": "/api/v1/documents/{id}/download",
    "/api/v1/events": "/api/v1/events",
    "/api/v1/me": "/api/v1/me",
    "/api/docs": "/api/docs",
}


@pytest.mark.parametrize("path", ATTACKS)
def test_nginx_serves_the_others_whatever_one_address_sends(
    gate: Nginx, umbrella: Tenant, path: str
) -> None:
    """It has 60 connections, and sends another key each time."""
    url = ATTACKS[path].format(id=factories.document(umbrella.workspace).id)
    stop = threading.Event()
    statuses: list[int] = []

    def attacking(number: int) -> None:
        connection = gate.from_address(STRANGER)
        for count in itertools.count():
            key = f"Bearer {fake_key(1000 * number + count)}"
            with contextlib.suppress(OSError):
                connection.request("GET", path, headers={"Authorization": key})
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
            if stop.is_set():
                connection.close()
                return

    threads = [threading.Thread(target=attacking, args=(number,)) for number in range(60)]
    for each in threads:
        each.start()
    try:
        assert eventually(lambda: len(statuses) > 100)
        connection = gate.from_address(NEIGHBOUR)
        served = []
        for _ in range(10):
            connection.request("GET", url, headers={"Authorization": umbrella.bearer})
            response = connection.getresponse()
            response.read()
            served.append(response.status)
        connection.close()
    finally:
        stop.set()
        for each in threads:
            each.join()
    assert served == [200] * 10
    assert 503 in statuses


def refused(connections: list[socket.socket]) -> list[socket.socket]:
    """Those on which a response arrives at once, although the application does not respond."""
    found: list[socket.socket] = []
    while arrived := select.select(set(connections) - set(found), [], [], 1)[0]:
        found += arrived
    return found


def test_nginx_refuses_no_pages_of_others_while_addresses_wait_for_slow_ones(
    nginx: Nginx, acme: Tenant
) -> None:
    """The page of one customer waits for a locked table, on 40 connections from two addresses."""
    cookie = f"Cookie: sessionid={staff.signed_in(acme.admin).cookies['sessionid'].value}"
    with contextlib.ExitStack() as stack:

        def sent(path: str, address: str, times: int, *headers: str) -> list[socket.socket]:
            connections = [stack.enter_context(nginx.connect(address)) for _ in range(times)]
            for each in connections:
                each.sendall(request(path, *headers))
            return connections

        with locked("documents_document"):
            slow = [sent("/admin/documents/document/", each, 40, cookie) for each in STRANGERS]
            refusals = refused([*slow[0], *slow[1]])
            assert len(refusals) == 2 * (40 - PAGES_OF_AN_ADDRESS)
            pages = sent("/admin/login/", NEIGHBOUR, PAGES_OF_AN_ADDRESS)
            files = sent("/static/x", NEIGHBOUR, STATIC_FILES_OF_AN_ADDRESS)
        assert [exchange(each, b"").status for each in pages] == [200] * len(pages)
        assert [exchange(each, b"").status for each in files] == [404] * len(files)


def test_nginx_leaves_a_thread_to_pages_while_anybody_tries_passwords(nginx: Nginx) -> None:
    # The table of sessions is asked for it, before anything else.
    headers = (f"Cookie: sessionid={'a' * 32}", "Content-Length: 0")
    sent = request("/admin/login/", *headers, method="POST")
    limit = max_conns("sign_in")
    with contextlib.ExitStack() as stack:
        stack.enter_context(locked("workspaces_session"))

        def sign_ins(addresses: list[str]) -> list[int]:
            """The statuses of those that are refused at once."""
            connections = [stack.enter_context(nginx.connect(each)) for each in addresses]
            for each in connections:
                each.sendall(sent)
            return [exchange(each, b"").status for each in refused(connections)]

        assert sign_ins([STRANGER] * 3) == [503]
        assert sign_ins([address_of(number) for number in range(limit)]) == [503] * 2
        for path in ("/api/docs", "/admin/login/", "/admin/reset/"):
            page = exchange(nginx.connect(NEIGHBOUR), request(path))
            assert page.status == 200, path
        # The application, which tells known browsers from strangers, refuses it for its token only.
        known = f"Cookie: {known_browser.COOKIE}=x"
        for path in ("/admin/login/", "/admin/reset/", "/admin/invitation/"):
            form = exchange(nginx.connect(NEIGHBOUR), request(path, known, method="POST"))
            assert form.status == 403, path


BEHIND_A_BALANCER = {  # what a balancer that docs/reference.md describes writes, and who it is
    "203.0.113.7:4711": "203.0.113.7",
    "1.1.1.1, 203.0.113.7": "203.0.113.7",
    "2001:db8::7": "2001:db8::7",
    "[2001:db8::7]:443": "2001:db8::7",
}


def test_nginx_behind_a_load_balancer_counts_its_clients_and_ipv6_by_network(
    django_db_setup: None, transactional_db: None, tmp_path: Path
) -> None:
    with running(Nginx(tmp_path)) as nginx:
        nginx.change({r"(?=geo )": "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n"})
        for sent, address in BEHIND_A_BALANCER.items():
            id = nginx.get("/me", x_forwarded_for=sent).headers["request-id"]
            assert nginx.logged(id)["client_address"] == address
        nginx.database.silence()
        with contextlib.ExitStack() as stack:

            def refusals(addresses: list[str]) -> int:
                """How many of the requests are refused at once."""
                connections = [stack.enter_context(nginx.connect()) for _ in addresses]
                for number, address in enumerate(addresses):
                    key = f"Authorization: Bearer {fake_key(number)}"
                    sent = request("/api/v1/me", key, f"X-Forwarded-For: {address}")
                    connections[number].sendall(sent)
                return len(refused(connections))

            assert refusals([f"2001:db8::{number}:1" for number in range(10)]) == 2
            assert refusals(["2001:db8:0:1::1"]) == 0
        nginx.database.restore()
