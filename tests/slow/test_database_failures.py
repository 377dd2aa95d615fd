"""A database that is gone, silent, locked or read-only: 503 in time, and it heals by itself."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from django.urls import reverse

from tests.support import factories, seals
from tests.support import server as servers
from tests.support.client import golden
from tests.support.database import locked, read_only
from tests.support.factories import Tenant
from tests.support.proxy import HOST, Proxy
from tests.support.receiver import delivering
from tests.support.server import Server, end_connections, eventually, running
from tests.support.staff import signed_in

PATHS = ("/me", "/documents", "/documents/{id}", "/documents/{id}/download")
KEYS = reverse("admin:apikeys_apikey_changelist")
LIMIT = 9.0  # seconds


@dataclass(frozen=True)
class Consumers:
    """Sends the requests of API consumers to a server, and those of an admin to pages."""

    server: Server
    pages: Server
    tenant: Tenant
    document_id: str
    session: str

    def api(self, path: str) -> int:
        """The response's status."""
        response = self.server.get(path.format(id=self.document_id), self.tenant.raw)
        if response.status == 503:
            assert response.json() == golden("unavailable")
            assert response.headers["retry-after"] == "5"
        return response.status

    def page(self) -> int:
        address = f"http://{HOST}:{self.pages.port}{KEYS}"
        response = httpx.get(address, cookies={"sessionid": self.session}, timeout=60)
        assert response.status_code in (200, 503)
        return response.status_code

    def disturb(self, *how: str) -> None:
        """What happens to the database, as both servers see it: names of methods of its proxy."""
        for each in (self.server, self.pages):
            for name in how:
                getattr(each.database, name)()

    def restore(self) -> None:
        self.server.restore()
        self.pages.restore()

    def all_at_once(self) -> list[int]:
        """The statuses of each endpoint and of a page, which must arrive in time."""
        started = time.monotonic()
        with ThreadPoolExecutor() as threads:
            page = threads.submit(self.page)
            statuses = [*threads.map(self.api, PATHS), page.result()]
        assert time.monotonic() - started < LIMIT
        return statuses


ALL_SERVED = [200] * (len(PATHS) + 1)
NONE_SERVED = [503] * (len(PATHS) + 1)


@pytest.fixture
def consumers(server: Server, pages: Server, acme: Tenant) -> Consumers:
    session = signed_in(acme.admin).cookies["sessionid"].value
    made = Consumers(server, pages, acme, str(factories.document(acme.workspace).id), session)
    assert made.all_at_once() == ALL_SERVED
    return made


def test_database_that_is_silent_to_new_connections_is_503_in_time_and_heals(
    consumers: Consumers,
) -> None:
    consumers.disturb("refuse", "restore", "silence")
    assert consumers.all_at_once() == NONE_SERVED
    consumers.restore()
    assert consumers.all_at_once() == ALL_SERVED


def test_database_that_has_ended_all_connections_refuses_no_request(consumers: Consumers) -> None:
    with ThreadPoolExecutor(20) as threads:
        for _ in range(3):
            assert set(threads.map(consumers.api, [PATHS[2]] * 40)) == {200}
            assert consumers.page() == 200
            assert end_connections() > 1
    assert consumers.all_at_once() == ALL_SERVED


def test_database_that_is_gone_when_the_server_starts_is_503_until_it_is_there(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    proxy = Proxy(servers.test_database_url())
    proxy.refuse()
    try:
        with running(Server(tmp_path, DATABASE_URL=proxy.url)) as server:
            assert server.get("/me", acme.raw).status == 503
            proxy.restore()
            assert server.get("/me", acme.raw).status == 200
    finally:
        proxy.stop()


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


@pytest.mark.parametrize("table", ["apikeys_apikey", "audit_auditentry"])
def test_database_with_a_locked_table_is_503_in_time(consumers: Consumers, table: str) -> None:
    started = time.monotonic()
    with locked(table), ThreadPoolExecutor() as threads:
        statuses = set(threads.map(consumers.api, PATHS))
    assert time.monotonic() - started < 6
    assert 503 in statuses
    assert statuses <= {200, 503}
    assert consumers.all_at_once() == ALL_SERVED


def test_database_that_is_read_only_serves_all_but_downloads(consumers: Consumers) -> None:
    logged = len(consumers.server.log())
    with read_only():
        for _ in range(2):
            for path in PATHS[:3]:
                assert consumers.api(path) == 200
            assert consumers.api(PATHS[3]) == 503
            assert consumers.page() == 200
    assert "Traceback" not in consumers.server.log()[logged:]
    assert consumers.all_at_once() == ALL_SERVED


def test_database_with_locked_tables_holds_no_worker_for_long(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    seals.written()
    commands = ("deliver_webhooks", "housekeeping --follow", "seal_audit --follow")
    logs = [tmp_path / str(number) for number in range(len(commands))]
    with ExitStack() as workers, locked("webhooks_delivery, audit_auditentry"):
        for log, command in zip(logs, commands, strict=True):
            workers.enter_context(delivering(log, command, **seals.VARIABLES))
        for log in logs:
            assert eventually(lambda: "due to lock timeout" in log.read_text()), log.read_text()  # noqa: B023
