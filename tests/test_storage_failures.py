"""A store that fails in less obvious ways than being gone; asked by us, or by us and nginx."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from audit.models import AuditEntry
from documents import storage
from tests import factories
from tests.client import Response, golden
from tests.factories import Tenant
from tests.nginx import Nginx
from tests.proxy import failing_after
from tests.server import Server, eventually

WRONG = "a-secret-key-that-is-wrong"


def all_of_them(path: str, raw: str, servers: list[Server], method: str) -> list[Response]:
    """Their answers, asked at the same time."""
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda server: server.get(path, raw, method), servers))


def is_unavailable(response: Response) -> bool:
    return (
        response.status == 503
        and response.headers["retry-after"] == "5"
        and response.json() == golden("unavailable")
    )


def test_storage_that_is_silent_is_503_within_its_time_outs(
    server: Server, nginx: Nginx, acme: Tenant
) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    servers = [server, nginx]
    tries = []
    for each in servers:
        each.store.refuse()  # no connection is left from before
        each.store.restore()
        each.store.silence()
        tries.append(each.store.accepted)
    responses = all_of_them(path, acme.raw, servers, "GET")
    for each, response, before in zip(servers, responses, tries, strict=True):
        assert is_unavailable(response)
        assert "Read timeout" in each.log_of(response)
        assert each.store.accepted - before == storage.TRIES
        assert each.get("/me", acme.raw).status == 200
    assert not AuditEntry.objects.filter(action="document.downloaded").exists()
    for each in servers:
        each.store.restore()
    assert [response.status for response in all_of_them(path, acme.raw, servers, "GET")] == [
        200
    ] * 2


@pytest.fixture
def with_a_wrong_secret_key(transactional_db: None, tmp_path: Path) -> Iterator[list[Server]]:
    with contextlib.ExitStack() as stack:
        servers: list[Server] = []
        for kind in (Server, Nginx):
            folder = tmp_path / kind.__name__
            folder.mkdir()
            servers.append(kind(folder, S3_SECRET_ACCESS_KEY=WRONG))
            stack.callback(servers[-1].stop)
        for each in servers:
            each.wait()
        yield servers


def test_storage_that_denies_access_is_503_with_the_cause_in_the_log_only(
    with_a_wrong_secret_key: list[Server], acme: Tenant
) -> None:
    path = f"/documents/{factories.document(acme.workspace).id}/download"
    for method in ("GET", "HEAD"):
        responses = all_of_them(path, acme.raw, with_a_wrong_secret_key, method)
        for each, response in zip(with_a_wrong_secret_key, responses, strict=True):
            assert response.status == 503
            assert method == "HEAD" or is_unavailable(response)
            logged = each.log_of(response)
            assert "403" in logged or "SignatureDoesNotMatch" in logged
    for each in with_a_wrong_secret_key:
        assert not any(secret in each.log() for secret in (WRONG, acme.raw, "X-Amz-Signature"))
    assert not AuditEntry.objects.filter(action="document.downloaded").exists()


def test_storage_that_denies_nginx_what_was_signed_is_the_same_503(
    nginx: Nginx, acme: Tenant
) -> None:
    document = factories.document(acme.workspace)
    nginx.store.alter = failing_after(1, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    assert is_unavailable(response)
    assert eventually(lambda: response.headers["request-id"] in nginx.completions.read_text())
