"""nginx as deploy/ sets it up, with TLS and two instances: what it passes on, refuses and logs."""

import io
import json
import re
import socket
import ssl
import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from django.core.management import CommandError, call_command

from audit.management.commands import missing_downloads
from config.api import errors
from tests.support import factories
from tests.support.cast import path_of
from tests.support.docs import documented_codes
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange, request
from tests.support.proxy import HOST

# The errors that nginx sends in place of the application; it has others of its own.
ERRORS: dict[int, type[errors.ApiError]] = {
    400: errors.InvalidRequest,
    403: errors.HttpsRequired,
    404: errors.PathNotFound,
    405: errors.MethodNotAllowed,
    503: errors.Unavailable,
}


def test_nginx_serves_https_with_hsts(gate: Nginx, acme: Tenant) -> None:
    response = gate.get("/me", acme.raw)
    assert response.status == 200
    assert response.headers["strict-transport-security"] == "max-age=31536000"
    assert "server" not in response.headers or response.headers["server"] == "nginx"


def test_nginx_serves_the_operator_s_security_txt(gate: Nginx) -> None:
    response = exchange(gate.tls(), request("/.well-known/security.txt"))
    assert response.status == 200
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    lines = re.findall("^[A-Z][a-z]+(?=: )", response.body.decode(), re.MULTILINE)
    assert lines == ["Contact", "Expires", "Canonical"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_nginx_refuses_old_versions_of_tls(gate: Nginx, version: ssl.TLSVersion) -> None:
    with pytest.raises(OSError, match="(?i)ssl|tls"):
        gate.tls(maximum_version=version, minimum_version=version)


def test_nginx_redirects_pages_from_plain_http_to_the_service_s_own_name(gate: Nginx) -> None:
    sent = request("/admin/?a=b").replace(b"Host: localhost", b"Host: evil.example")
    response = exchange(socket.create_connection((HOST, gate.http_port)), sent)
    assert response.status == 301
    assert response.headers["location"] == "https://localhost/admin/?a=b"


def test_nginx_refuses_the_api_over_plain_http_on_either_port(gate: Nginx, acme: Tenant) -> None:
    for port, path in (
        (gate.http_port, "/api/v1/me"),
        (gate.http_port, "//api/v1/me"),
        (gate.http_port, "/API/v1/me"),
        (gate.port, "/api/v1/me"),
    ):
        response = gate.plain(port, path, f"Authorization: {acme.bearer}")
        assert response.status == 403
        assert response.error == errors.HttpsRequired.default_detail
        assert response.headers["error-code"] == errors.HttpsRequired.default_code
        assert len(response.headers["request-id"]) == 32


# Requests that nginx refuses itself, each with its status.
MALFORMED = {
    "header": (request("/api/v1/me", "X: a\0b"), 400),
    "no host": (b"GET /api/v1/me HTTP/1.1\r\n\r\n", 400),
    "two lengths": (request("/api/v1/me", "Content-Length: 1", "Content-Length: 2"), 400),
    "two keys": (request("/api/v1/me", "Authorization: Bearer a", "Authorization: Bearer b"), 400),
    "TRACE": (request("/api/v1/me", method="TRACE"), 405),
    "long URL": (request("/api/v1/me?q=" + "a" * 20_000), 414),
    "long header": (request("/api/v1/me", "X: " + "a" * 20_000), 431),
    "many headers": (request("/api/v1/me", *[f"X-{n}: " + "a" * 9_000 for n in range(9)]), 431),
    "large body": (request("/api/v1/me", "Content-Length: 65537", method="POST"), 413),
    "metrics": (request("/metrics"), 404),
    "storage": (request("/_storage/a/b"), 404),
    "transfer coding": (request("/api/v1/me", "Transfer-Encoding: x"), 400),
    "chunk": (request("/api/v1/me", "Transfer-Encoding: chunked") + b"no size\r\n", 400),
    "no URL": (request("/api/v1/documents?status=<x>"), 400),
    "no request": (b"\x16\x03\x01nonsense\r\n\r\n", 400),
    "version": (b"GET /api/v1/me HTTP/9.9\r\n\r\n", 400),
}


def test_nginx_errors_of_its_own_are_json(gate: Nginx) -> None:
    documented = documented_codes()
    for name, (sent, status) in MALFORMED.items():
        response = exchange(gate.tls(), sent)
        assert response.status == status, name
        code = response.headers["error-code"]
        assert documented[code] == status, name
        if error := ERRORS.get(status):
            assert (response.error, code) == (error.default_detail, error.default_code), name
        assert "went wrong on our side" not in response.error, name
        request_id = response.headers["request-id"]
        assert gate.logged(request_id)["request_id"] == request_id, name
        assert ("allow" in response.headers) == (status == 405), name


def test_nginx_compresses_json_but_neither_pdfs_nor_the_admin(gate: Nginx, acme: Tenant) -> None:
    factories.listed(acme.workspace, 20)
    wanted = "Accept-Encoding: gzip"
    key = f"Authorization: {acme.bearer}"
    encoded = {
        path: exchange(gate.tls(), request(path, key, wanted)).headers.get("content-encoding")
        for path in ("/api/v1/documents", "/api/v1/openapi.json", "/admin/login/")
    }
    assert encoded == {
        "/api/v1/documents": "gzip",
        "/api/v1/openapi.json": None,
        "/admin/login/": None,
    }
    document = factories.document(acme.workspace)
    file = gate.get(path_of(document), acme.raw, accept_encoding="gzip")
    assert file.body.startswith(b"%PDF")
    assert "content-encoding" not in file.headers
    assert file.headers["strict-transport-security"] == "max-age=31536000"


def test_nginx_log_has_one_object_for_each_request_without_raw_keys(
    gate: Nginx, acme: Tenant
) -> None:
    path = f"/nothing/{acme.raw}/{acme.raw}?q={acme.raw}"
    response = gate.get(path, acme.raw, user_agent=f"curl {acme.raw}")
    line = gate.logged(response.headers["request-id"])
    assert line["path"] == f"/api/v1/nothing/{acme.raw[:12]}…"
    assert (line["method"], line["status"], line["client_address"]) == ("GET", 404, HOST)
    assert line["bytes"] == len(response.body)
    assert 0 <= float(line["upstream_seconds"]) <= line["seconds"] + 0.01  # another clock
    escaped = gate.get(f"/dtd%5F{acme.raw[4:]}")
    assert gate.logged(escaped.headers["request-id"])["status"] == 401
    assert acme.raw[12:] not in gate.written()


def missing(log: Path | str) -> tuple[list[str], str]:
    """The Request-Ids that the command prints for a log, and its last sentence or its error."""
    out, error = io.StringIO(), ""
    try:
        call_command("missing_downloads", str(log), stdout=out)
    except CommandError as exc:
        error = str(exc)
    lines = [*out.getvalue().splitlines(), *([error] if error else [])]
    return [json.loads(line)["request_id"] for line in lines[:-1]], lines[-1]


def test_nginx_log_shows_downloads_that_the_audit_log_lacks(
    gate: Nginx, acme: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    whole, part = gate.get(path, acme.raw), gate.get(path, acme.raw, range="bytes=0-9")
    assert (whole.status, part.status) == (200, 206)
    unrecorded = [
        gate.get(path, acme.raw, if_none_match=whole.headers["etag"]),
        gate.get(path, acme.raw, "HEAD"),
        gate.get(path),
        gate.get("/documents", acme.raw),
    ]
    ids = [each.headers["request-id"] for each in (whole, part, *unrecorded)]
    assert all(map(gate.logged, ids))
    written = (gate.logs / "access.log").read_text().splitlines()
    lines = [next(line for line in written if id in line) for id in ids]
    log = tmp_path / "access.log"
    log.write_text("\n".join([lines[0][:50], *lines]))  # after a disk was full
    assert missing(log) == ([], "The audit log has an entry of each download in this log: 2.")
    monkeypatch.setattr(missing_downloads, "BATCH", 1)
    lost = [lines[number].replace(ids[number], str(number) * 32) for number in range(len(ids))]
    log.write_text("\n".join([*lines, *lost]))
    for words in (log, "-"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(log.read_bytes())))
        printed, sentence = missing(words)
        assert printed == ["0" * 32, "1" * 32]
        assert sentence.startswith("Downloads without an entry: 2 of 4. Keep the log")
    log.write_text('127.0.0.1 - - [01/Jan/2030:00:00:00 +0000] "GET / HTTP/1.1" 200 5\n')
    assert missing(log)[1].startswith("None of the 1 lines has the format of the access log")
    assert missing(tmp_path / "x")[1].startswith("The log: [Errno 2] No such file")


def test_nginx_shows_only_monitoring_what_works(gate: Nginx) -> None:
    assert exchange(gate.tls(), request("/readyz")).status == 200
    for path in ("/readyz", "//readyz", "/readyz?a=b", "/%72eadyz", "/x/../readyz"):
        strangers = gate.from_address("127.0.0.2")
        strangers.request("GET", path)
        response = strangers.getresponse()
        assert (response.status, b"database" in response.read()) == (404, False)
        strangers.close()


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
