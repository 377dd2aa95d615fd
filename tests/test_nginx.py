"""nginx as deploy/ sets it up, with TLS and two instances: what it passes on, refuses and logs."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from audit.models import Action, AuditEntry
from config.api import errors
from tests import factories
from tests.client import Response, golden
from tests.factories import Tenant
from tests.nginx import Nginx
from tests.proxy import HOST
from tests.server import ROOT, eventually

ERROR_TEXTS = {
    400: errors.InvalidRequest.text,
    403: errors.HttpsRequired.text,
    404: errors.PathNotFound.text,
    405: errors.MethodNotAllowed.text,
    503: errors.Unavailable.text,
}


@pytest.fixture(scope="session")
def the_gate(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    gate = Nginx(tmp_path_factory.mktemp("gate"), tls=True, instances=2)
    try:
        gate.wait()
        yield gate
    finally:
        gate.stop()


@pytest.fixture
def gate(the_gate: Nginx, transactional_db: None) -> Iterator[Nginx]:
    """nginx with TLS in front of two instances."""
    yield the_gate
    the_gate.restore()


def tls(gate: Nginx, **options: Any) -> ssl.SSLSocket:
    """A connection of the test's own."""
    context = ssl.create_default_context(cafile=gate.certificate)
    for name, value in options.items():
        setattr(context, name, value)
    return context.wrap_socket(gate.connect(), server_hostname="localhost")


def exchange(connection: socket.socket, request: bytes) -> Response:
    """Sends bytes and reads until the server closes; the response to the first request."""
    with connection:
        with contextlib.suppress(OSError):  # the server may refuse before it has read all
            connection.sendall(request)
        received = b""
        with contextlib.suppress(OSError):
            while block := connection.recv(65536):
                received += block
    head, _, body = received.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Response(int(status.split()[1]), headers, body)


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def logged(gate: Nginx, request_id: str) -> dict[str, Any]:
    """The line of the access log with this id."""

    def find() -> list[dict[str, Any]]:
        lines = map(json.loads, (gate.logs / "access.log").read_text().splitlines())
        return [line for line in lines if line["request_id"] == request_id]

    (line,) = eventually(find)
    return dict(line)


def test_nginx_serves_https_with_hsts(gate: Nginx, acme: Tenant) -> None:
    response = gate.get("/me", acme.raw)
    assert response.status == 200
    assert response.headers["strict-transport-security"] == "max-age=31536000"
    document = factories.document(acme.workspace)
    file = gate.get(f"/documents/{document.id}/download", acme.raw)
    assert file.body.startswith(b"%PDF")
    assert file.headers["strict-transport-security"] == "max-age=31536000"
    assert "content-encoding" not in file.headers
    assert "server" not in response.headers or response.headers["server"] == "nginx"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_nginx_refuses_old_versions_of_tls(gate: Nginx, version: ssl.TLSVersion) -> None:
    with pytest.raises(OSError, match="(?i)ssl|tls"):
        tls(gate, maximum_version=version, minimum_version=version)


def plain(port: int, path: str, *headers: str) -> Response:
    return exchange(socket.create_connection((HOST, port)), request(path, *headers))


def test_nginx_redirects_pages_from_plain_http(gate: Nginx) -> None:
    response = plain(gate.http_port, "/admin/login/?next=/")
    assert response.status == 301
    assert response.headers["location"] == "https://localhost/admin/login/?next=/"


def test_nginx_refuses_the_api_over_plain_http_on_either_port(gate: Nginx, acme: Tenant) -> None:
    for port in (gate.http_port, gate.port):
        response = plain(port, "/api/v1/me", f"Authorization: {acme.bearer}")
        assert response.status == 403
        assert response.error == errors.HttpsRequired.text
        assert len(response.headers["request-id"]) == 32


MALFORMED = {
    "header": (request("/api/v1/me", "X: a\0b"), 400),
    "no host": (b"GET /api/v1/me HTTP/1.1\r\n\r\n", 400),
    "two lengths": (request("/api/v1/me", "Content-Length: 1", "Content-Length: 2"), 400),
    "TRACE": (request("/api/v1/me", method="TRACE"), 405),
    "long URL": (request("/api/v1/me?q=" + "a" * 20_000), 414),
    "long header": (request("/api/v1/me", "X: " + "a" * 20_000), 431),
    "many headers": (request("/api/v1/me", *[f"X-{n}: " + "a" * 9_000 for n in range(9)]), 431),
    "large body": (request("/api/v1/me", "Content-Length: 65537", method="POST"), 413),
    "metrics": (request("/metrics"), 404),
    "storage": (request("/_storage/a/b"), 404),
    "no request": (b"\x16\x03\x01nonsense\r\n\r\n", 400),
    "version": (b"GET /api/v1/me HTTP/9.9\r\n\r\n", 505),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_nginx_errors_of_its_own_are_json(gate: Nginx, name: str) -> None:
    sent, status = MALFORMED[name]
    response = exchange(tls(gate), sent)
    assert response.status == status
    assert response.error == ERROR_TEXTS.get(status, response.error)
    assert (
        response.headers["request-id"] == logged(gate, response.headers["request-id"])["request_id"]
    )
    assert ("allow" in response.headers) == (status == 405)


def test_nginx_compresses_json_but_neither_pdfs_nor_the_admin(gate: Nginx, acme: Tenant) -> None:
    document = factories.listed(acme.workspace, 20)[0]
    wanted = "Accept-Encoding: gzip"
    key = f"Authorization: {acme.bearer}"
    encoded = {
        path: exchange(tls(gate), request(path, key, wanted)).headers.get("content-encoding")
        for path in ("/api/v1/documents", "/api/v1/openapi.json", "/admin/login/")
    }
    assert encoded == {
        "/api/v1/documents": "gzip",
        "/api/v1/openapi.json": "gzip",
        "/admin/login/": None,
    }
    file = gate.get(f"/documents/{document.id}/download", acme.raw, accept_encoding="gzip")
    assert "content-encoding" not in file.headers


def test_nginx_log_has_one_object_for_each_request_without_raw_keys(
    gate: Nginx, acme: Tenant
) -> None:
    agent = f"curl {acme.raw} x"
    path = f"/nothing/{acme.raw}/{acme.raw}?q={acme.raw}"
    response = gate.get(path, acme.raw, user_agent=agent)
    line = logged(gate, response.headers["request-id"])
    assert list(line) == [
        "time",
        "request_id",
        "method",
        "path",
        "status",
        "milliseconds",
        "bytes",
        "client_address",
        "user_agent",
        "upstream",
        "upstream_milliseconds",
    ]
    assert line["path"] == f"/api/v1/nothing/{acme.raw[:12]}…"
    assert line["user_agent"] == f"curl {acme.raw[:12]}…"
    assert (line["method"], line["status"], line["client_address"]) == ("GET", 404, HOST)
    assert line["bytes"] == len(response.body)
    assert 0 <= line["upstream_milliseconds"] <= line["milliseconds"] + 1
    quoted = gate.get(f"/dtd%5F{acme.raw[4:]}", user_agent='"\\')
    assert logged(gate, quoted.headers["request-id"])["user_agent"] == '"\\'
    assert acme.raw[12:] not in gate.written()


@pytest.fixture
def pair(
    django_db_setup: None, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Nginx]:
    """nginx in front of two instances that a test may kill."""
    pair = Nginx(tmp_path_factory.mktemp("pair"), instances=2)
    try:
        pair.wait()
        yield pair
    finally:
        pair.stop()


def test_nginx_uses_the_other_instance_and_says_503_without_any(pair: Nginx, acme: Tenant) -> None:
    used = {
        logged(pair, pair.get("/me", acme.raw).headers["request-id"])["upstream"] for _ in range(6)
    }
    assert len(used) == 2
    assert pair.second is not None
    pair.second.kill()
    assert {pair.get("/me", acme.raw).status for _ in range(20)} == {200}
    pair.kill()
    response = pair.get(f"/nothing?q={acme.raw}", acme.raw)
    assert response.status == 503
    assert response.json() == golden("unavailable")
    assert response.headers["retry-after"] == "5"
    line = logged(pair, response.headers["request-id"])
    assert line["upstream_milliseconds"] is None or line["upstream_milliseconds"] >= 0
    for path in ("/admin/", "/admin/login/"):
        page = plain(pair.port, path)
        assert page.status == 503
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert b"The service cannot be reached right now." in page.body
        assert page.headers["retry-after"] == "5"
    assert acme.raw[12:] not in pair.written()  # error.log included


def test_nginx_passes_a_frozen_instance_by(pair: Nginx, acme: Tenant) -> None:
    assert pair.second is not None
    os.killpg(pair.second.group, signal.SIGSTOP)
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
        os.killpg(pair.second.group, signal.SIGCONT)


def test_nginx_large_bodies_for_the_admin_are_refused_with_a_page(gate: Nginx) -> None:
    sent = request("/admin/login/", "Content-Length: 65537", method="POST")
    response = exchange(tls(gate), sent)
    assert response.status == 413
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert b"too large" in response.body


def test_nginx_ignores_headers_with_underscores(gate: Nginx, acme: Tenant) -> None:
    key = f"Authorization: {acme.bearer}"
    document = factories.document(acme.workspace)
    path = f"/api/v1/documents/{document.id}/download"
    assert exchange(tls(gate), request(path, key, "X_Forwarded_For: 6.6.6.6")).status == 200
    entry = AuditEntry.objects.filter(action=Action.DOCUMENT_DOWNLOADED).get()
    assert entry.address == HOST


def test_nginx_serves_others_while_clients_send_half_a_request_or_nothing(
    gate: Nginx, acme: Tenant
) -> None:
    with contextlib.ExitStack() as open_connections:
        for number in range(1500):
            connection = open_connections.enter_context(gate.connect())
            if number < 300:
                connection.sendall(b"\x16\x03\x01")  # the beginning of a TLS handshake
        for _ in range(100):
            connection = open_connections.enter_context(tls(gate))
            connection.sendall(b"GET /api/v1/me HTTP/1.1\r\nHost: loc")
            connection = open_connections.enter_context(tls(gate))
            connection.sendall(request("/admin/login/", "Content-Length: 1000", method="POST"))
            connection.sendall(b"c")
        assert [gate.get("/me", acme.raw).status for _ in range(20)] == [200] * 20


def test_nginx_refuses_at_once_what_is_more_than_an_instance_takes(
    nginx: Nginx, acme: Tenant
) -> None:
    [limit] = set(re.findall(r"max_conns=(\d+)", (ROOT / "deploy" / "upstreams.conf").read_text()))
    beyond = 10
    sent = request("/api/v1/me", f"Authorization: {acme.bearer}")
    nginx.database.silence()
    with contextlib.ExitStack() as waiting:
        connections = [waiting.enter_context(nginx.connect()) for _ in range(int(limit) + beyond)]
        for connection in connections:
            connection.sendall(sent)
        assert eventually(lambda: len(select.select(connections, [], [], 0)[0]) >= beyond)
        for connection in select.select(connections, [], [], 0)[0]:
            refused = exchange(connection, b"")
            assert refused.status == 503
            assert refused.json() == golden("unavailable")
            assert refused.headers["retry-after"] == "5"


def test_nginx_serves_http_2(gate: Nginx, acme: Tenant) -> None:
    words = ["curl", "-s", "--http2", "--cacert", str(gate.certificate)]
    words += ["-w", "%{http_version} %{http_code}", "-o", "/dev/null"]
    url = f"https://localhost:{gate.port}/api/v1/me"
    done = subprocess.run(
        [*words, "-H", f"Authorization: {acme.bearer}", url], capture_output=True, text=True
    )
    assert done.stdout == "2 200"


def test_nginx_passes_a_form_on_over_https(gate: Nginx, db: None) -> None:
    user = factories.user("ada@acme.example", is_staff=True, is_superuser=True)
    user.set_password("correct horse battery")
    user.save()
    context = ssl.create_default_context(cafile=gate.certificate)
    base = f"https://localhost:{gate.port}"
    with httpx.Client(base_url=base, verify=context, headers={"Referer": base}) as browser:
        browser.get("/admin/login/")
        form = {
            "username": user.username,
            "password": "correct horse battery",
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        assert browser.post("/admin/login/?next=/admin/", data=form).status_code == 302
        assert browser.get("/admin/").status_code == 200
        assert {cookie.secure for cookie in browser.cookies.jar} == {True}
