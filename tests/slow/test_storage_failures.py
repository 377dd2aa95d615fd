"""Object storage that fails in less obvious ways than being gone; with nginx and without."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, IncompleteRead

from tests.support import factories
from tests.support.client import Response, golden
from tests.support.factories import Tenant
from tests.support.nginx import Nginx
from tests.support.proxy import HOST, failing_after
from tests.support.server import PATIENCE, Server, eventually

DOWNLOADS = 3  # at once
DEADLINE = 6  # seconds


def is_unavailable(response: Response) -> bool:
    return (
        response.status == 503
        and response.headers["retry-after"] == "5"
        and response.json() == golden("unavailable")
    )


def test_storage_that_falls_silent_within_bodies_breaks_them_off(
    server: Server, acme: Tenant
) -> None:
    document = factories.document(acme.workspace, content=bytes(30_000_000))
    path = f"/documents/{document.id}/download"
    with contextlib.ExitStack() as stack:
        responses = []
        for _ in range(DOWNLOADS):
            connection = stack.enter_context(
                contextlib.closing(HTTPConnection(HOST, server.port, timeout=PATIENCE))
            )
            connection.request("GET", f"/api/v1{path}", headers={"Authorization": acme.bearer})
            responses.append(stack.enter_context(contextlib.closing(connection.getresponse())))
            responses[-1].read(1)
        server.store.silence()
        started = time.monotonic()
        with ThreadPoolExecutor() as threads:
            ends = [threads.submit(response.read) for response in responses]
            assert all(isinstance(end.exception(), IncompleteRead) for end in ends)
        assert time.monotonic() - started < DEADLINE


def test_storage_that_denies_nginx_what_was_signed_is_the_same_503(
    nginx: Nginx, acme: Tenant
) -> None:
    document = factories.document(acme.workspace)
    nginx.store.alter = failing_after(1, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    assert is_unavailable(response)
    assert eventually(lambda: response.headers["request-id"] in nginx.written())
