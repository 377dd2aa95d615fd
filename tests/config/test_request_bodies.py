"""Request bodies: the API reads none; other paths read only short forms, which no file is in."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin import site
from django.test import Client
from django.urls import reverse

from tests.support import staff
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange
from tests.support.server import Server

MOST = 64 * 1024  # bytes
LOGIN = "/admin/login/"
FORM = "Content-Type: application/x-www-form-urlencoded"
MULTIPART = "Content-Type: multipart/form-data; boundary=x"
TOKEN = "Cookie: csrftoken=" + "a" * 32  # with a token, Django reads the body to compare it


def head(method: str, path: str, *headers: str) -> bytes:
    """A request's head; a body is announced by `headers` only."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


@pytest.mark.parametrize("path", [LOGIN, "/admin/", "/", "/nothing", "/api"])
def test_body_that_is_too_long_is_refused_before_it_arrives(nginx: Nginx, path: str) -> None:
    headers = [TOKEN, FORM, f"Content-Length: {MOST + 1}"]
    response = exchange(nginx.connect(), head("POST", path, *headers))  # no byte of the body
    assert response.status == 413
    assert re.fullmatch("[0-9a-f]{32}", response.headers["request-id"])
    assert response.headers["cache-control"] == "no-store"


def test_body_that_is_too_long_is_not_read_without_nginx_either(server: Server) -> None:
    assert (
        status(server.raw(head("POST", LOGIN, TOKEN, FORM, f"Content-Length: {MOST + 1}"))) == 400
    )


def test_body_of_the_greatest_length_is_read(server: Server) -> None:
    body = b"username=" + b"a" * (MOST - 9)
    response = server.raw(head("POST", LOGIN, TOKEN, FORM, f"Content-Length: {MOST}") + body)
    assert status(response) == 403  # no token of the form


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("length", ["Content-Length: 3000000000", "Transfer-Encoding: chunked"])
def test_body_of_a_request_to_the_api_is_not_read(
    server: Server, acme: Tenant, method: str, length: str
) -> None:
    key = f"Authorization: {acme.bearer}"
    response = server.raw(head(method, "/api/v1/me", key, MULTIPART, length))
    assert status(response) == (200 if method == "GET" else 405)


def test_body_limit_is_one_that_all_forms_of_the_admin_keep(acme: Tenant, client: Client) -> None:
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == MOST
    assert settings.FILE_UPLOAD_HANDLERS == []
    pages = 0
    for user in (acme.admin, staff.operator(), staff.support()):
        client.force_login(user)
        for model in site._registry:
            list_page = reverse(
                f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
            )
            objects: Any = model._default_manager.all()[:1]
            for page in (list_page, f"{list_page}add/", *(f"{list_page}{o.pk}/" for o in objects)):
                html = client.get(page, follow=True).content.decode()
                assert 'type="file"' not in html
                assert "multipart" not in html
                pages += "<form" in html
    assert pages > 10
