"""Request bodies: the API reads none; other paths read only short forms, which no file is in."""

import pytest
from django.conf import settings

from tests.support.factories import Tenant
from tests.support.nginx import request
from tests.support.server import Server, eventually
from tests.support.slow_clients import SIGN_IN_FORM, SlowClients

MOST = 64 * 1024  # bytes
LOGIN = "/admin/login/"
FORM = "Content-Type: application/x-www-form-urlencoded"
MULTIPART = "Content-Type: multipart/form-data; boundary=x"
TOKEN = "Cookie: csrftoken=" + "a" * 32  # with a token, Django reads the body to compare it


def form(length: int) -> bytes:
    """The head of a form; no byte of the form itself."""
    return request(LOGIN, TOKEN, FORM, f"Content-Length: {length}", method="POST")


def status(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def test_body_that_is_too_long_is_not_read_without_nginx_either(pages: Server) -> None:
    assert status(pages.raw(form(MOST + 1))) == 400


def test_body_of_the_greatest_length_is_read(pages: Server) -> None:
    assert settings.FILE_UPLOAD_HANDLERS == []
    body = b"username=" + b"a" * (MOST - 9)
    response = pages.raw(form(MOST) + body)
    assert status(response) == 403  # no token of the form


def test_forms_of_strangers_that_do_not_arrive_take_one_thread_from_pages(pages: Server) -> None:
    with SlowClients(pages.port) as strangers:
        for _ in range(20):
            strangers.send(SIGN_IN_FORM)
        assert eventually(lambda: status(pages.raw(form(0))) == 429)
        assert status(pages.raw(request(LOGIN))) == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("length", ["Content-Length: 3000000000", "Transfer-Encoding: chunked"])
def test_body_of_a_request_to_the_api_is_not_read(
    server: Server, acme: Tenant, method: str, length: str
) -> None:
    key = f"Authorization: {acme.bearer}"
    response = server.raw(request("/api/v1/me", key, MULTIPART, length, method=method))
    assert status(response) == (200 if method == "GET" else 405)
