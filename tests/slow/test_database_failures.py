"""A database that is silent, locked or read-only; `make faults` has other failures."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support import factories, seals
from tests.support.client import golden
from tests.support.database import locked, read_only
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.receiver import delivering
from tests.support.server import Server, eventually
from tests.support.staff import KEYS, signed_in

PATHS = ("/me", "/documents", "/documents/{id}", "/documents/{id}/download")
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
        assert "error-code" not in response.headers  # which would count it as one of the API
        silent = "The database cannot be asked" in response.text
        assert silent == (response.status_code == 503)
        return response.status_code

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
    for each in (consumers.server, consumers.pages):
        each.database.refuse()  # which ends its connections
        each.database.restore()
        each.database.silence()
    assert consumers.all_at_once() == NONE_SERVED
    consumers.server.restore()
    consumers.pages.restore()
    assert consumers.all_at_once() == ALL_SERVED


def test_database_that_is_read_only_serves_all_but_downloads(consumers: Consumers) -> None:
    logged = len(consumers.server.log())
    with read_only():  # which ends all connections
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
