"""HTTPS only, which is the default: what plain HTTP gets, and what a new SECRET_KEY keeps valid."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings

from config.api.cursors import decode_cursor, encode_cursor
from config.api.errors import InvalidParameter
from documents.api.documents import DocumentPosition
from tests.support import factories
from tests.support.client import api_client, get
from tests.support.factories import Tenant
from tests.support.staff import START, support

SECURE: Any = {"HTTP_X_FORWARDED_PROTO": "https"}


@pytest.fixture
def https_only() -> Iterator[None]:
    """The settings behind one proxy, as HTTPS_ONLY and TRUSTED_PROXIES make them."""
    with override_settings(
        HTTPS_ONLY=True,
        SECURE_SSL_REDIRECT=True,
        SECURE_HSTS_SECONDS=31536000,
        SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
    ):
        api_client.cache_clear()  # middleware reads these settings when it is loaded
        yield
    api_client.cache_clear()


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_plain_http_is_refused_by_the_api_whatever_the_key(
    https_only: None, acme: Tenant, method: str
) -> None:
    responses = [
        get(f"/api/v1{path}", key, method=method)
        for path in ("/me", "/documents", "/nothing", "/documents/1/x", "/openapi.json")
        for key in (None, "Bearer dtd_x", acme.bearer)
    ]
    assert responses[0].status == 403
    assert len({str(each.same()) for each in responses}) == 1
    assert method == "HEAD" or "was sent unencrypted: revoke it" in responses[0].error
    assert "ratelimit" not in responses[2].headers


@pytest.mark.parametrize("path", ["/admin/login/", "/api/docs", "/"])
def test_plain_http_is_redirected_for_pages(https_only: None, db: None, path: str) -> None:
    response = Client().get(path)
    assert (response.status_code, response["Location"]) == (301, f"https://testserver{path}")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_plain_http_is_enough_for_health_checks(https_only: None, db: None, path: str) -> None:
    assert get(path).status != 301
    assert Client().get(path).status_code != 301


def test_https_is_served_with_hsts(https_only: None, acme: Tenant) -> None:
    api = get("/api/v1/me", acme.bearer, x_forwarded_proto="https")
    page = Client().get("/admin/login/", **SECURE)
    assert (api.status, page.status_code) == (200, 200)
    for headers in (api.headers, page.headers):
        assert headers["strict-transport-security"] == "max-age=31536000"


def test_secret_key_that_is_new_keeps_cursors_and_sessions_of_the_old_one(
    acme: Tenant, client: Client
) -> None:
    position = DocumentPosition(factories.at("2026-01-01 00:00:00"), factories.uid(1))
    cursor = encode_cursor(position, "a list")
    client.force_login(support())
    new: dict[str, Any] = {"SECRET_KEY": "new" * 20, "SECRET_KEY_FALLBACKS": [settings.SECRET_KEY]}
    with override_settings(**new):
        assert decode_cursor(cursor, DocumentPosition, "a list", "cursor", "") == position
        assert client.get(START).status_code == 200
    with override_settings(SECRET_KEY="new" * 20):
        # Used meanwhile, so it has the new signature. An unused one ends with the old key.
        assert client.get(START).status_code == 200
        with pytest.raises(InvalidParameter):
            decode_cursor(cursor, DocumentPosition, "a list", "cursor", "")
