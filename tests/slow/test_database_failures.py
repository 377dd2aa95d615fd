"""A database that is silent, locked or read-only, and requests that do not wait for it."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import httpx
import psutil
import pytest
from config.runtime.breaker import PAUSE
from config.runtime.postgresql.deadlines import API_SECONDS
from django.db import connection
from django.urls import reverse

from tests.support import factories
from tests.support.client import golden
from tests.support.database import locked, read_only
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import Server, end_connections, other_connections
from tests.support.staff import signed_in

LIMIT = 6.0  # seconds in which every request is answered
AT_ONCE = 0.5  # seconds of a request that the breaker refuses
PATHS = ("/me", "/documents", "/documents/{id}", "/documents/{id}/download")
KEYS = reverse("admin:apikeys_apikey_changelist")


@dataclass(frozen=True)
class Timed:
    """A response's status, and when its request began and how long it took, in seconds."""

    status: int
    began: float
    took: float


@dataclass(frozen=True)
class Consumers:
    """Sends the requests of API consumers and of an admin to a server."""

    server: Server
    tenant: Tenant
    document_id: str
    session: str

    def api(self, path: str) -> Timed:
        began = time.monotonic()
        response = self.server.get(path.format(id=self.document_id), self.tenant.raw)
        took = time.monotonic() - began
        if response.status == 503:
            # Busy: it waited for a slot while others waited for the database.
            assert response.json() in (golden("unavailable"), golden("busy"))
            assert response.headers["retry-after"] == "5"
        return Timed(response.status, began, took)

    def page(self, path: str = KEYS) -> Timed:
        began = time.monotonic()
        address = f"http://{HOST}:{self.server.port}{path}"
        response = httpx.get(address, cookies={"sessionid": self.session}, timeout=60)
        assert response.status_code == 200 or "Please try again in a moment." in response.text
        return Timed(response.status_code, began, time.monotonic() - began)

    def all_at_once(self) -> list[Timed]:
        """The responses of each endpoint and of a page."""
        with ThreadPoolExecutor() as threads:
            page = threads.submit(self.page)
            return [*threads.map(self.api, PATHS), page.result()]


@pytest.fixture
def consumers(server: Server, acme: Tenant) -> Consumers:
    session = signed_in(acme.admin).cookies["sessionid"].value
    made = Consumers(server, acme, str(factories.document(acme.workspace).id), session)
    assert statuses(made.all_at_once()) == {200}
    return made


def statuses(responses: list[Timed]) -> set[int]:
    return {response.status for response in responses}


def refused_by_breaker(ask: Callable[[], Timed], seconds: float) -> None:
    """Requests in this time are refused at once, apart from about one try a second."""
    end = time.monotonic() + seconds

    def repeatedly() -> list[Timed]:
        responses = []
        while time.monotonic() < end:
            responses.append(ask())
            time.sleep(0.05)
        return responses

    with ThreadPoolExecutor() as threads:
        asked = [threads.submit(repeatedly) for _ in range(4)]
        responses = [response for each in asked for response in each.result()]
    assert statuses(responses) == {503}
    assert max(response.took for response in responses) < LIMIT
    tries = [response for response in responses if response.took > AT_ONCE]
    assert len(tries) <= seconds + 1
    assert len(responses) > 5 * len(tries)


def test_database_that_is_silent_is_503_in_time_and_then_at_once(consumers: Consumers) -> None:
    logged = len(consumers.server.log())
    consumers.server.database.silence()
    responses = consumers.all_at_once()
    assert statuses(responses) == {503}
    assert max(response.took for response in responses) < LIMIT
    refused_by_breaker(lambda: consumers.api("/documents"), seconds=4)
    assert "The database fails repeatedly" in consumers.server.log()[logged:]
    consumers.server.database.restore()
    assert consumers.server.recovers()
    assert statuses(consumers.all_at_once()) == {200}
    assert "The database responds again" in consumers.server.log()[logged:]


def test_database_that_is_silent_to_new_connections_is_503_in_time(consumers: Consumers) -> None:
    consumers.server.database.refuse()
    consumers.server.database.restore()
    consumers.server.database.silence()
    responses = consumers.all_at_once()
    assert statuses(responses) == {503}
    assert max(response.took for response in responses) < LIMIT
    consumers.server.database.restore()
    assert consumers.server.recovers()
    assert statuses(consumers.all_at_once()) == {200}


def test_database_with_locked_documents_is_no_reason_not_to_check_keys_and_count_requests(
    server: Server, acme: Tenant, umbrella: Tenant
) -> None:
    tenants = (acme, umbrella)
    paths = [f"/documents/{factories.document(tenant.workspace).id}" for tenant in tenants]
    for path, tenant in zip(paths, tenants, strict=True):
        assert server.get(path, tenant.raw).status == 200
    umbrella.key.revoke(by=umbrella.admin)
    with locked("documents_document"), ThreadPoolExecutor() as threads:
        served, refused = threads.map(server.get, paths, [tenant.raw for tenant in tenants])
    assert (served.status, "ratelimit" in served.headers) == (503, True)
    assert refused.status == 401


def test_database_with_locked_documents_leaves_me_and_events_alone(
    server: Server, acme: Tenant, umbrella: Tenant
) -> None:
    for path in ("/documents", "/me"):
        assert server.get(path, acme.raw).status == 200
    with locked("documents_document"), ThreadPoolExecutor(12) as threads:
        lists = [
            threads.submit(server.get, "/documents", tenant.raw)
            for tenant in (acme, umbrella)
            for _ in range(6)
        ]
        took = []
        for path in ("/me", "/events") * 15:
            began = time.monotonic()
            assert server.get(path, acme.raw).status == 200
            took.append(time.monotonic() - began)
    assert median(took) < 0.2
    assert max(took) < 1
    assert {each.result().status for each in lists} == {503}


def test_database_that_has_ended_all_connections_refuses_no_request(consumers: Consumers) -> None:
    for _ in range(3):
        assert end_connections() > 1
        assert statuses(consumers.all_at_once()) == {200}


@pytest.fixture
def stopped_backends() -> Iterator[Callable[[], None]]:
    """Stops the processes of PostgreSQL that serve the other connections to the tests' database."""
    stopped: list[psutil.Process] = []

    def stop() -> None:
        name = str(connection.settings_dict["NAME"])
        for process in map(psutil.Process, other_connections()):
            assert name in " ".join(process.cmdline())
            process.suspend()
            stopped.append(process)

    if "127.0.0.1" not in os.environ["DATABASE_URL"]:
        pytest.skip("PostgreSQL runs elsewhere")
    yield stop
    for process in stopped:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)


def test_database_with_stopped_processes_is_503_in_time_and_heals(
    consumers: Consumers, stopped_backends: Callable[[], None]
) -> None:
    stopped_backends()
    responses = consumers.all_at_once()
    assert 503 in statuses(responses)
    assert max(response.took for response in responses) < LIMIT
    assert consumers.server.recovers()
    assert statuses(consumers.all_at_once()) == {200}


@pytest.mark.parametrize("table", ["documents_document", "apikeys_apikey", "audit_auditentry"])
def test_database_with_a_locked_table_is_503_in_time(consumers: Consumers, table: str) -> None:
    with locked(table), ThreadPoolExecutor() as threads:
        responses = list(threads.map(consumers.api, PATHS))
    assert 503 in statuses(responses)
    assert statuses(responses) <= {200, 503}
    assert max(response.took for response in responses) < LIMIT
    assert consumers.server.recovers()
    assert statuses(consumers.all_at_once()) == {200}


def test_database_with_a_locked_table_delays_a_page_longer_than_the_api(
    consumers: Consumers,
) -> None:
    with ThreadPoolExecutor() as threads:
        with locked("apikeys_apikey"):
            page = threads.submit(consumers.page)
            time.sleep(API_SECONDS + 2)
        assert page.result().status == 200
        assert page.result().took > API_SECONDS


def test_database_that_is_read_only_serves_all_but_downloads(consumers: Consumers) -> None:
    logged = len(consumers.server.log())
    with read_only():
        for _ in range(2):
            for path in PATHS[:3]:
                assert consumers.api(path).status == 200
            assert consumers.api(PATHS[3]).status == 503
            assert consumers.page().status == 200
    assert "Traceback" not in consumers.server.log()[logged:]
    assert statuses(consumers.all_at_once()) == {200}


def test_database_is_used_again_by_the_next_request_although_connections_died(
    server: Server, acme: Tenant
) -> None:
    """Each slot's connection has died while no request used it; no trial may be wasted on one."""
    logged = len(server.log())
    with ThreadPoolExecutor(20) as threads:
        for response in threads.map(lambda _: server.get("/me", acme.raw), range(40)):
            assert response.status == 200
    server.database.refuse()
    for _ in range(3):
        assert server.request("/readyz").status == 503
        time.sleep(1.05)  # the result is kept for a second
    assert "The database fails repeatedly" in server.log()[logged:]
    server.database.restore()
    time.sleep(PAUSE + 0.1)  # a try is due
    assert server.get("/me", acme.raw).status == 200
