"""The deadline of a request's statements, and a server's own time-outs."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest
from config.runtime.breaker import PAUSE
from config.runtime.postgresql.base import BREAKER
from django.contrib.auth.models import User
from django.db import OperationalError, ProgrammingError, connection, transaction

from config.runtime.database import current, fetch, limit_statements
from config.runtime.request_context import deadline
from tests.support import factories


@contextlib.contextmanager
def deadline_in(seconds: float) -> Iterator[None]:
    """The deadline of the test's statements; afterwards the breaker is closed."""
    token = deadline.set(time.monotonic() + seconds)
    yield
    deadline.reset(token)
    connection.close()
    BREAKER.succeeded()


@pytest.fixture
def one_second(transactional_db: None) -> Iterator[None]:
    """A deadline that the test's statements miss."""
    with deadline_in(1):
        yield


def with_fetch(sql: str) -> None:
    fetch(sql, [])


def with_cursor(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize("run", [with_fetch, with_cursor])
def test_statement_ends_at_the_deadline(one_second: None, run: Callable[[str], None]) -> None:
    began = time.monotonic()
    run("SELECT 1")
    with pytest.raises(OperationalError):
        run("SELECT pg_sleep(10)")
    assert 1 <= time.monotonic() - began < 3
    connection.close()
    with pytest.raises(OperationalError, match="deadline has passed"):
        run("SELECT 1")


def test_transaction_ends_at_the_deadline_and_is_rolled_back(one_second: None) -> None:
    def make_a_user() -> None:
        with transaction.atomic():
            factories.user("lost@acme.example")
            fetch("SELECT pg_sleep(3)", [])

    with pytest.raises(OperationalError):
        make_a_user()
    token = deadline.set(None)
    assert not User.objects.exists()
    deadline.reset(token)


def test_statement_without_a_deadline_is_not_cut(transactional_db: None) -> None:
    assert fetch("SELECT count(pg_sleep(1.5))", []) == [(1,)]


def test_server_limits_the_statements_of_a_connection(transactional_db: None) -> None:
    try:
        limit_statements(current())
        shown = [
            fetch(f"SHOW {name}", [])[0][0]
            for name in ("statement_timeout", "lock_timeout", "client_connection_check_interval")
        ]
        assert shown == ["5s", "2s", "1s"]
    finally:
        current().limited = False
        connection.close()


@pytest.fixture
def a_minute(transactional_db: None) -> Iterator[None]:
    """A deadline that the test's statements keep."""
    with deadline_in(60):
        yield


@pytest.mark.parametrize("run", [with_fetch, with_cursor])
def test_breaker_opens_after_time_outs_and_refuses_statements(
    a_minute: None, run: Callable[[str], None]
) -> None:
    run("SET statement_timeout = '50ms'")
    for _ in range(3):
        assert not BREAKER.open
        with pytest.raises(OperationalError, match="statement timeout"):
            run("SELECT pg_sleep(10)")
    assert BREAKER.open
    with pytest.raises(OperationalError, match="it was not asked"):
        run("SELECT 1")
    time.sleep(PAUSE)
    run("SELECT 1")
    assert not BREAKER.open


@pytest.mark.parametrize("run", [with_fetch, with_cursor])
def test_breaker_does_not_count_defects(a_minute: None, run: Callable[[str], None]) -> None:
    for _ in range(5):
        with pytest.raises(ProgrammingError):
            run("SELECT no_such_column")
    run("SELECT 1")
    assert not BREAKER.open
