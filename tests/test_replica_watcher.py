"""What a server process knows of primary and replica: positions in the log, and since when."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

from config.database import fetch
from config.replica.watcher import Knowledge, watcher
from config.system.own import read_replica
from tests import factories
from tests.factories import Tenant
from tests.replica import FLUSHED, ReadingServer, Replica, apart
from tests.server import eventually, running
from tests.test_replica import page

INSERTED = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
PAGE = 8192  # bytes of a page of the log
HEADER = 24  # bytes at its beginning, unless it is a segment's first page
MESSAGE = 54  # bytes of a long message's record beside its text


def end_segment(primary: Replica) -> None:
    """Ends the log's segment, as `archive_timeout` does."""
    primary.ask("SELECT pg_switch_wal()::text")


def end_page(primary: Replica) -> None:
    """Writes what fills a page of the log to its end."""
    while primary.ask(INSERTED) % PAGE != HEADER:
        size = PAGE - primary.ask(INSERTED) % PAGE + PAGE - HEADER - MESSAGE
        primary.ask(f"SELECT pg_logical_emit_message(false, '', repeat('x', {size}), true)::text")


def becomes_current(server: ReadingServer, primary: Replica) -> bool:
    """Whether the server notices that its replica has all, before the primary writes more."""
    since, position = time.monotonic(), primary.ask(INSERTED)

    def is_current() -> bool:
        passed, lag = time.monotonic() - since, server.value("lag_seconds")
        return lag is not None and lag < passed

    eventually(lambda: is_current() or primary.ask(INSERTED) != position)
    return is_current() and primary.ask(INSERTED) == position


@pytest.mark.parametrize("end", [end_segment, end_page])
def test_replica_that_has_all_up_to_the_end_of_a_page_of_the_log_is_current(
    transactional_db: None, acme: Tenant, tmp_path: Path, end: Callable[[Replica], None]
) -> None:
    for _ in range(3):
        factories.document(acme.workspace)
    with (
        apart() as (primary, replica),
        running(
            ReadingServer(tmp_path, replica, DATABASE_URL=primary.url, REPLICA_MAX_LAG="3600")
        ) as server,
    ):
        assert server.uses_replica(), server.log()

        def current_after_the_end() -> bool:
            end(primary)
            return becomes_current(server, primary)

        # PostgreSQL itself writes a little, at most every 15 seconds.
        assert any(current_after_the_end() for _ in range(3))

        server.link.refuse()
        assert server.leaves_replica()

        def first_page_at_the_end() -> str | None:
            """Its cursor; None if more was written, such as what the page's own rows need."""
            end(primary)
            position = primary.ask(INSERTED)
            _, cursor = page(server, acme, query="limit=1")
            return cursor if primary.ask(INSERTED) == position else None

        cursor = eventually(first_page_at_the_end)
        replica.reach(primary.ask(FLUSHED))
        server.link.restore()
        assert server.uses_replica()
        before = server.pages()
        page(server, acme, cursor, "limit=1")
        assert server.pages() == before + 1


def test_replica_that_has_just_become_too_old_is_said_to_be_too_far_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    as_of = time.monotonic() - settings.REPLICA_MAX_LAG - 0.1
    monkeypatch.setattr(watcher, "knowledge", Knowledge("", 1, as_of))
    used, *_ = read_replica()
    assert used.value == "not used: it is too far behind. Lists come from the primary database."


def test_feed_from_now_on_is_there_as_soon_as_a_server_responds(
    replica: Replica, acme: Tenant, tmp_path: Path
) -> None:
    with running(ReadingServer(tmp_path, replica)) as server:
        assert server.get("/events?after=now", acme.raw).status == 200, server.log()


def test_feed_from_now_on_holds_no_slot_while_it_cannot_be_known(
    patient_reader: ReadingServer, acme: Tenant, umbrella: Tenant
) -> None:
    neighbour = factories.tenant("Initech", acme.workspace.plan, number=5)
    tenants = [acme, umbrella] * settings.API_SLOTS
    for tenant in (*tenants, neighbour):  # so that the server knows whose keys these are
        assert patient_reader.get("/me", tenant.raw).status == 200
    with ThreadPoolExecutor(len(tenants)) as threads:
        requests = [
            threads.submit(patient_reader.get, "/events?after=now", tenant.raw)
            for tenant in tenants
        ]
        while not all(request.done() for request in requests):
            assert patient_reader.get("/me", neighbour.raw).status == 200
        for response in (request.result() for request in requests):
            assert (response.status, response.headers["error-code"]) == (503, "unavailable")
            assert "retry-after" in response.headers


def test_replica_of_another_primary_is_not_judged_by_the_positions_of_the_one_before(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    document = factories.document(acme.workspace)
    with (
        apart() as (primary, replica),
        running(ReadingServer(tmp_path, replica, REPLICA_MAX_LAG="3600")) as server,
    ):
        # The other primary's log is a segment further, and stays so during the test.
        further = fetch(INSERTED, [])[0][0] + 2**24
        while primary.ask(INSERTED) < further + PAGE:
            primary.ask("SELECT pg_logical_emit_message(false, '', 'x')::text")
            end_segment(primary)
        replica.reach(further)
        replica.pause()
        with psycopg.connect(primary.url) as connection:
            connection.execute(
                "UPDATE documents_document SET title = 'New' WHERE id = %s", [document.id]
            )
        server.database.refuse()
        server.database.retarget(primary.url)
        server.database.restore()
        judged = "The replica is not used: it is too far behind"
        assert eventually(lambda: server.value("usable") or judged in server.log())
        assert server.recovers()
        [shown] = server.get("/documents", acme.raw).json()["data"]
        assert shown["title"] == "New", server.log()


def test_watcher_that_gets_no_response_from_the_primary_does_not_stop_requests(
    reader: ReadingServer, acme: Tenant
) -> None:
    before = reader.database.accepted
    reader.database.silence()
    # Once per failure but the first one.
    assert eventually(lambda: reader.database.accepted >= before + 4)
    assert 'documents_breaker_open{part="database"} 0.0' in reader.metrics()
    reader.database.restore()
    assert reader.get("/documents", acme.raw).status == 200
