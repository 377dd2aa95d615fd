"""The connections to the database that a server holds, and their prepared statements."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from config.runtime.slots import FairSemaphore
from django.conf import settings
from django.db import (
    DEFAULT_DB_ALIAS,
    DatabaseError,
    NotSupportedError,
    ProgrammingError,
    connection,
    connections,
    transaction,
)

from config.runtime.database import Row, fetch
from tests.support.factories import Tenant
from tests.support.server import Server


def test_server_opens_no_more_connections_than_it_has_slots(server: Server, acme: Tenant) -> None:
    def request(_: int) -> int:
        return server.get("/documents", acme.raw).status

    with ThreadPoolExecutor(20) as threads:
        assert set(threads.map(request, range(100))) == {200}
    slots = settings.API_SLOTS + settings.DOWNLOAD_SLOTS + settings.PAGE_SLOTS
    others = completion = usage = health = 1
    assert 1 <= server.database.connections <= slots + others + completion + usage + health


def test_connection_of_a_slot_is_refused_once_the_slot_is_returned(
    two_connections: list[ThreadPoolExecutor],
) -> None:
    def keep() -> None:
        semaphore = FairSemaphore(1, 0)
        semaphore.open()
        semaphore.acquire()
        kept = connections[DEFAULT_DB_ALIAS]
        assert fetch("SELECT 1", []) == [(1,)]
        semaphore.release()
        with pytest.raises(DatabaseError, match="can only be used in that same thread"):
            kept.cursor()
        semaphore.acquire()
        assert connections[DEFAULT_DB_ALIAS] is kept
        kept.close()
        semaphore.release()

    two_connections[0].submit(keep).result()


ADD = "SELECT %s::int + %s::int"
MULTIPLY = "SELECT %s::int * %s::int"


def prepared() -> dict[str, str]:
    """The names and texts of this connection's statements of the tests."""
    rows = fetch("SELECT name, statement FROM pg_prepared_statements", [])
    return {name: text for name, text in rows if "$1::int" in text}


@pytest.fixture
def two_connections(transactional_db: None) -> Iterator[list[ThreadPoolExecutor]]:
    """Two threads, each with a connection of its own."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        yield [one, other]
        for thread in (one, other):
            thread.submit(connections.close_all).result()


def test_fetch_gives_a_text_the_same_name_on_each_connection_whatever_the_order(
    two_connections: list[ThreadPoolExecutor],
) -> None:
    def ask(*texts: str) -> tuple[list[list[Row]], dict[str, str]]:
        return [fetch(text, [3, 4]) for text in texts], prepared()

    one, other = two_connections
    assert one.submit(ask, ADD, MULTIPLY).result()[0] == [[(7,)], [(12,)]]
    rows, statements = other.submit(ask, MULTIPLY, ADD).result()
    assert rows == [[(12,)], [(7,)]]
    assert len(statements) == 2
    assert statements == one.submit(prepared).result()


@pytest.mark.parametrize("command", ["DISCARD ALL", "DEALLOCATE ALL"])
def test_fetch_prepares_again_what_the_connection_has_lost(
    transactional_db: None, command: str
) -> None:
    assert fetch(ADD, [3, 4]) == [(7,)]
    with connection.cursor() as cursor:
        cursor.execute(command)
    assert fetch(ADD, [3, 4]) == [(7,)]
    assert fetch(MULTIPLY, [3, 4]) == [(12,)]


def test_fetch_in_a_transaction_fails_once_when_the_statement_is_lost(
    transactional_db: None,
) -> None:
    fetch(ADD, [3, 4])
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with pytest.raises(ProgrammingError, match="does not exist"), transaction.atomic():
        fetch(ADD, [3, 4])
    with transaction.atomic():
        assert fetch(ADD, [3, 4]) == [(7,)]


NOTES = "SELECT text FROM notes WHERE id = %s"


@pytest.fixture
def notes(transactional_db: None, as_owner: None) -> Iterator[None]:
    """A table of this connection."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE notes AS SELECT 1 AS id, 'A'::varchar(5) AS text")
        yield
        cursor.execute("DROP TABLE notes")


def migrate(size: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE notes ALTER COLUMN text TYPE varchar({size})")


def test_fetch_prepares_again_what_a_migration_has_changed(notes: None) -> None:
    for size in (6, 7):
        assert fetch(NOTES, [1]) == [("A",)]
        migrate(size)
    assert fetch(NOTES, [2]) == []
    assert fetch(NOTES, [1]) == [("A",)]


def test_fetch_in_a_transaction_fails_once_when_a_migration_has_changed_the_statement(
    notes: None,
) -> None:
    fetch(NOTES, [1])
    migrate(6)
    with pytest.raises(NotSupportedError, match="must not change"), transaction.atomic():
        fetch(NOTES, [1])
    with transaction.atomic():
        assert fetch(NOTES, [1]) == [("A",)]


def test_fetch_uses_what_another_client_of_a_pooler_has_prepared(transactional_db: None) -> None:
    fetch(ADD, [3, 4])
    [(name, text)] = prepared().items()
    connection.close()
    connection.ensure_connection()
    connection.connection.pgconn.prepare(name.encode(), text.encode())
    assert fetch(ADD, [3, 4]) == [(7,)]


@pytest.mark.usefixtures("transactional_db")
def test_connections_that_are_idle_in_a_transaction_end_after_a_minute() -> None:
    name = "idle_in_transaction_session_timeout"
    assert fetch(f"SHOW {name}", []) == [("1min",)]
    for variable in ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SEALER_URL"):
        with psycopg.connect(os.environ[variable]) as plain:  # as through a pooler
            assert plain.execute(f"SHOW {name}".encode()).fetchone() == ("1min",)
