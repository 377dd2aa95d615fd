"""Errors: JSON with `error` everywhere under /api/, whatever goes wrong, and parts that heal."""

from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client

from tests.support import factories
from tests.support.client import get, golden
from tests.support.database import execute, renamed
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange
from tests.support.server import Server

PATHS = ("/me", "/documents", "/documents/{id}", "/documents/{id}/download")


NOWHERE = [
    *("/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/me", "/api/v1x/me", "/api/v1/nothing"),
    *("/api/v1/me/", "/api/v1/me.json", "/api/v1//me", "/api/v1/ME", "/api/v1/documents/"),
    *("//api/v1/me", "/API/v1/me", "//API"),
    *("/api/v1/%00", "/api/v1/%FF", "/api/v1/a%0Ab", "/api/v1/<script>"),
]


def test_error_of_an_unknown_path_is_404_in_json(acme: Tenant) -> None:
    for path in NOWHERE:
        response = get(path, acme.bearer)
        assert response.status == 404, path
        assert response.json() == golden("no_path")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"])
def test_error_of_any_method_but_get_and_head_is_405(acme: Tenant, method: str) -> None:
    for path in PATHS:
        response = acme.get(path.format(id=uuid4()), method=method)
        assert response.status == 405, path
        assert response.headers["allow"] == "GET, HEAD"
        assert response.json() == golden("wrong_method")


def test_error_of_a_method_that_is_not_in_upper_case_is_405(server: Server, acme: Tenant) -> None:
    response = server.get("/me", acme.raw, "Get")
    assert response.status == 405
    assert response.json() == golden("wrong_method")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/*;q=0", "nonsense", ""])
def test_error_does_not_depend_on_accept(acme: Tenant, accept: str) -> None:
    for path in ("/me", "/documents", "/documents?limit=0", "/nothing"):
        assert acme.get(path, accept=accept).same() == acme.get(path).same(), path


@pytest.mark.parametrize("text", ["%00", "SENT%00", "%FF", "%ED%A0%80"])
def test_error_of_what_is_no_text_is_400_in_every_parameter_and_404_as_an_id(
    acme: Tenant, text: str
) -> None:
    paths = dict.fromkeys(("status", "limit", "cursor"), "/documents")
    paths["type"] = f"/documents/{uuid4()}/download"
    for name, path in paths.items():
        response = acme.get(f"{path}?{name}={text}")
        assert response.status == 400, name
        assert f"'{name}'" in response.error
    assert acme.get(f"/documents?{text}={text}").status == 200
    assert acme.get(f"/documents/{text}").json() == golden("no_document")


def test_error_of_more_parameters_than_are_read_is_400(acme: Tenant) -> None:
    query = "&".join(f"a{n}=1" for n in range(2000))
    response = acme.get(f"/documents?{query}")
    assert response.status == 400
    assert response.error == "The request is not valid."


HOSTS = {
    "evil.example": "evil.example",
    "[::1": "[::1",
    "\xe9": "\\xe9",
    "a\r\nX: y": "a\\r\\nX: y",
    "x" * 5000: "x" * 100,
}


def test_error_of_a_foreign_host_header_is_400_in_json_with_the_name(acme: Tenant) -> None:
    for host, named in HOSTS.items():
        response = acme.get("/me", host=host)
        assert response.status == 400, host
        assert f"'{named}'" in response.error
        assert response.headers["error-code"] == "invalid_request"


def test_error_outside_of_the_api_is_a_page(pages: Server) -> None:
    assert pages.request("/nothing").headers["content-type"].startswith("text/html")
    response = pages.request("/admin/", host="<b>evil.example")
    assert (response.status, response.headers["content-type"]) == (400, "text/plain")
    assert b"'<b>evil.example'" in response.body


def test_error_without_a_host_header_says_so(server: Server, gate: Nginx) -> None:
    for received in (
        server.raw(b"GET /api/v1/me HTTP/1.0\r\n\r\n"),
        exchange(gate.tls(), b"GET /api/v1/me HTTP/1.0\r\n\r\n").body,
    ):
        assert b'{"error":"The request has no Host header."}' in received
    foreign = gate.get("/me", host="evil.example")
    assert "'evil.example'" in foreign.error


@pytest.mark.usefixtures("as_owner")
def test_error_of_a_crash_is_500_in_json_with_its_traceback_in_the_log(
    json_server: Server, acme: Tenant
) -> None:
    assert json_server.get("/documents", acme.raw).status == 200
    with renamed("documents_document"):
        response = json_server.get(f"/documents?key={acme.raw}", acme.raw, user_agent=acme.raw)
    assert response.status == 500
    assert response.json() == golden("server_error")
    crash, access = json_server.lines_of(response)
    assert crash["exception"].startswith("Traceback (most recent call last):\n")
    assert 'relation "documents_document" does not exist' in crash["exception"]
    assert (crash["level"], access["route"], access["status"]) == (
        "ERROR",
        "/api/v1/documents",
        500,
    )
    assert acme.raw not in json_server.log()
    assert json_server.get("/documents", acme.raw).status == 200


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize("table", ["documents_document", "apikeys_apikey"])
@pytest.mark.parametrize("path", PATHS)
def test_error_of_a_crash_is_the_same_500_at_any_endpoint(
    acme: Tenant, caplog: pytest.LogCaptureFixture, path: str, table: str
) -> None:
    document = factories.document(acme.workspace)
    with transaction.atomic():
        execute(
            f"ALTER TABLE {table} RENAME TO elsewhere",
            "ALTER TABLE workspaces_documentcount RENAME TO nowhere",
        )
        response = acme.get(path.format(id=document.id))
        transaction.set_rollback(True)
    assert response.status == 500
    assert response.json() == golden("server_error")
    assert len(response.headers["request-id"]) == 32
    assert "does not exist" in caplog.text  # the traceback


def test_error_log_has_no_line_forged_by_a_line_end_in_a_path(server: Server, acme: Tenant) -> None:
    response = server.get("/documents/x%0D%0AINFO%20forged", acme.raw)
    assert "forged" in server.log_of(response)
    assert "\nINFO forged" not in server.log()


def test_every_response_has_the_security_headers_of_pages(acme: Tenant) -> None:
    page = Client().get("/admin/login/")
    names = ("x-content-type-options", "x-frame-options", "referrer-policy")
    expected = {name: page[name] for name in (*names, "cross-origin-opener-policy")}
    for path, host in (("/me", "localhost"), ("/nothing", "localhost"), ("/me", "evil.example")):
        assert expected.items() <= acme.get(path, host=host).headers.items()
