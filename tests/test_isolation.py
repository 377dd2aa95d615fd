"""What one client does never stops the others."""

import time
from collections.abc import Iterator

import pytest
from django.conf import settings

from documents import storage
from documents.models import Document
from tests import factories
from tests.factories import Tenant
from tests.server import Server, eventually
from tests.slow import SIGN_IN_FORM, SlowClients, download_request

MANY = 200


@pytest.fixture
def clients(server: Server) -> Iterator[SlowClients]:
    with SlowClients(server.port) as slow:
        yield slow


@pytest.fixture
def large(acme: Tenant) -> Iterator[Document]:
    """A document that no socket's buffers hold."""
    document = factories.document(acme.workspace, content=bytes(30_000_000))
    assert document.original is not None
    key = document.original.object_key
    yield document
    storage.delete([key])


def start_downloads(clients: SlowClients, *requests: bytes) -> None:
    """Starts `MANY` downloads; a few at a time, since all at once would be refused as a crowd."""
    for number in range(MANY):
        clients.read(requests[number % len(requests)])
        if number % 10 == 9:
            wait_for_statuses(clients, number + 1)


def wait_for_statuses(clients: SlowClients, count: int) -> None:
    assert eventually(lambda: len(clients.statuses()) == count)


def assert_undisturbed(server: Server, tenant: Tenant) -> None:
    """Each request is answered within a second."""
    for number in range(40):
        started = time.monotonic()
        path = ("/me", "/documents")[number % 2]
        assert server.get(path, tenant.raw).status == 200
        assert time.monotonic() - started < 1


def test_slow_downloads_stop_nobody(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    second = factories.issue(acme.workspace, "Second", acme.admin)[1]
    start_downloads(
        clients, download_request(large.id, acme.raw), download_request(large.id, second)
    )
    assert_undisturbed(server, umbrella)
    assert clients.statuses().count(200) == settings.STREAMS
    refused = next(bytes(each) for each in clients.received if b" 503 " in each[:20])
    assert b'{"error":"Too many downloads are in progress. Try again in 5 seconds."}' in refused
    assert b"retry-after: 5\r\n" in refused.lower()


def test_one_key_has_at_most_half_of_the_downloads(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    start_downloads(clients, download_request(large.id, acme.raw))
    assert clients.statuses().count(200) == settings.STREAMS // 2
    other = factories.document(umbrella.workspace)
    assert server.get(f"/documents/{other.id}/download", umbrella.raw).status == 200


def test_slow_forms_stop_no_request_to_the_api(
    server: Server, clients: SlowClients, umbrella: Tenant
) -> None:
    for _ in range(MANY):
        clients.send(SIGN_IN_FORM)
    assert_undisturbed(server, umbrella)


def test_slow_downloads_and_slow_forms_together_stop_nobody(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    for _ in range(MANY):
        clients.send(SIGN_IN_FORM)
        clients.read(download_request(large.id, acme.raw))
    wait_for_statuses(clients, MANY)
    assert_undisturbed(server, umbrella)
