"""The API's prepared statements, and what a server does with connections that failed.

Django's own cursor sends values inside the statement's text, so PostgreSQL parses and plans it each
time, and Django's loader of times is Python. For a page of documents that takes 2 ms more.
"""

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    InternalError,
    OperationalError,
    connection,
    connections,
)
from psycopg import ClientCursor, Cursor
from psycopg.rows import args_row, tuple_row
from psycopg.types.datetime import TimestamptzLoader

# Errors of the database's state; any other is a defect. An InternalError is one such as a database
# that is read-only during a failover.
UNAVAILABLE = (InterfaceError, InternalError, OperationalError)

Parameters = Sequence[Any] | Mapping[str, Any]

_thread = threading.local()  # a cursor each: a new one would take a third of a short statement


def fetch(sql: str, parameters: Parameters, row: Callable[..., Any] | None = None) -> list[Any]:
    """Runs a prepared statement on this thread's connection and returns its rows, if it has any.

    Each text stays prepared as long as the connection, so there must be few of them, and no value
    may be part of one.

    Args:
        sql: with `%s` or `%(name)s` for each parameter.
        row: makes a row of its columns; a tuple without it.

    Raises:
        django.db.Error: as from Django's own cursors.
    """
    database = _connected()
    cursor: Cursor[Any] | None = getattr(_thread, "cursor", None)
    if cursor is None or cursor.connection is not database.connection:
        cursor = _thread.cursor = Cursor(database.connection)
    with database.wrap_database_errors:
        cursor.row_factory = args_row(row) if row else tuple_row
        cursor.execute(sql, parameters, prepare=True, binary=True)
        # Not `cursor.description`, which makes an object for each column.
        rows = cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []
    _log(database, sql, parameters)
    return rows


def fetch_planned(settings: str, sql: str, parameters: Parameters) -> list[Any]:
    """Like `fetch`, for a statement that is planned for its values.

    Args:
        settings: statements before it in the same round trip (`SET LOCAL …;`).
        parameters: each is of a type that psycopg writes as a literal.
    """
    database = _connected()
    with database.wrap_database_errors, ClientCursor(database.connection) as cursor:
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)  # not Django's
        cursor.execute(settings + sql, parameters)
        while cursor.nextset():
            pass
        rows: list[Any] = cursor.fetchall()
    _log(database, sql, parameters)
    return rows


def _connected() -> Any:
    """Django's connection of this thread, open."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.connection is None:
        database.ensure_connection()
    return database


def _log(database: Any, sql: str, parameters: Parameters) -> None:
    """Adds the statement to Django's list of queries, if there is one."""
    if database.queries_logged:
        database.queries_log.append({"sql": database.ops.compose_sql(sql, parameters)})


class _Owner:
    """Exists as long as its thread: granian ends threads that are idle.

    Django's own object is part of a cycle, which the garbage collector may find hours later.
    """


def close_with_thread(connection: Any, **kwargs: Any) -> None:
    """Signal receiver for a new connection: it ends with this thread at the latest."""
    if connection in connections.all(initialized_only=True):  # not a copy
        _thread.owner = _Owner()
        weakref.finalize(_thread.owner, connection.connection.close)


def close_failed(**kwargs: Any) -> None:
    """Signal receiver at the end of a request: closes a connection on which a statement failed."""
    if connection.errors_occurred and not connection.in_atomic_block:
        connection.close()


@contextlib.contextmanager
def part_limits(seconds: float) -> Iterator[None]:
    """Ends each statement of a part of a page, or of a check, after so many seconds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, false)", [f"{seconds}s"])
    try:
        yield
    finally:
        with contextlib.suppress(Error), connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")
