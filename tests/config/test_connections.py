"""The connections to the database that a server holds, and their prepared statements."""

import os
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from django.db import NotSupportedError, connection

from config import connections
from config.api.exceptions import as_api_error
from config.connections import close_failed, fetch
from tests.support.factories import Tenant
from tests.support.server import eventually

ADD = "SELECT %s::int + %s::int"


@pytest.mark.parametrize("command", ["DISCARD ALL", "DEALLOCATE ALL"])
def test_fetch_prepares_again_what_the_connection_has_lost(
    transactional_db: None, command: str
) -> None:
    assert fetch(ADD, [3, 4]) == [(7,)]
    prepared = fetch("SELECT count(*) FROM pg_prepared_statements WHERE statement = %s", [ADD])
    assert prepared == [(0,)]  # its parameters are $1 and $2
    with connection.cursor() as cursor:
        cursor.execute(command)
    assert fetch(ADD, [3, 4]) == [(7,)]


@pytest.fixture
def notes(transactional_db: None, as_owner: None) -> Iterator[str]:
    """A statement about a table of this connection."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE notes AS SELECT 1 AS id, 'A'::varchar(5) AS text")
    yield "SELECT text FROM notes WHERE id = %s"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE notes")


def test_statement_that_a_migration_has_changed_is_a_503_once_for_a_connection(notes: str) -> None:
    assert fetch(notes, [1]) == [("A",)]
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("ALTER TABLE notes ALTER COLUMN text TYPE text")
    with pytest.raises(NotSupportedError, match="must not change") as raised:
        fetch(notes, [1])
    assert as_api_error(raised.value).status_code == 503
    close_failed()  # at the end of the request
    assert fetch(notes, [1]) == [("A",)]


def test_request_on_a_connection_that_has_ended_gets_a_new_one(
    transactional_db: None, acme: Tenant
) -> None:
    for _ in range(2):
        backend = connection.connection.info.backend_pid
        with closing(connection.copy()) as other, other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
        assert acme.get("/me").status == 200
        assert connection.connection.info.backend_pid != backend


@pytest.mark.usefixtures("transactional_db")
def test_connections_of_the_api_have_the_time_outs_of_their_role() -> None:
    limits = {"statement_timeout": "5s", "lock_timeout": "2s", "jit": "off"}
    assert {name: fetch(f"SHOW {name}", [])[0][0] for name in limits} == limits


@pytest.mark.usefixtures("transactional_db")
def test_connections_that_are_idle_in_a_transaction_end_after_a_minute() -> None:
    name = "idle_in_transaction_session_timeout"
    assert fetch(f"SHOW {name}", []) == [("1min",)]
    for variable in ("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SEALER_URL"):
        with psycopg.connect(os.environ[variable]) as plain:  # as through a pooler
            assert plain.execute(f"SHOW {name}".encode()).fetchone() == ("1min",)


def test_process_that_has_asked_nothing_for_long_and_is_not_busy_hangs(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = connection.get_connection_params() | {"application_name": "follower"}
    with closing(psycopg.connect(**parameters)) as follower:
        assert connections.processes("follower") == 1
        monkeypatch.setattr(connections, "HUNG_SECONDS", 0.0)
        assert connections.processes("follower") == 0
        follower.pgconn.send_query(b"SELECT pg_sleep(30)")
        assert eventually(lambda: connections.processes("follower") == 1)
