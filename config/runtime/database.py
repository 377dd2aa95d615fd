"""Prepared statements for the queries of the API, and the life of a server's connections.

PostgreSQL parses and plans a statement once for each connection, and psycopg's C code loads the
rows from PostgreSQL's binary format. docs/decisions/ compares the cost with psycopg's cursors.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    InternalError,
    OperationalError,
    connections,
)
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import (
    DuplicatePreparedStatement,
    FeatureNotSupported,
    InvalidSqlStatementName,
)
from psycopg.pq.abc import PGresult

from config.runtime.postgresql.base import PING_SECONDS, DatabaseWrapper
from config.runtime.postgresql.deadlines import (
    API_SECONDS,
    LOCK_SECONDS,
    PAGE_SECONDS,
    Connection,
)

Row = tuple[Any, ...]

# Errors of the database's state; any other is a defect. An InternalError is one such as a database
# that is read-only during a failover.
UNAVAILABLE = (InterfaceError, InternalError, OperationalError)
CLIENT_CHECK_SECONDS = 1.0  # until the server notices that a client was cut off


def current() -> DatabaseWrapper:
    """This thread's connection."""
    connection: DatabaseWrapper = connections[DEFAULT_DB_ALIAS]  # type: ignore[assignment]
    return connection


def fetch(sql: str, parameters: Sequence[Any]) -> list[Row]:
    """Runs a prepared statement on this thread's connection and returns its rows, if it has any.

    Each text stays prepared as long as the connection, so there must be few of them, and no value
    may be part of one.

    Args:
        sql: with `%s` for each parameter.
        parameters: each is None, or a value whose `str()` PostgreSQL can read.

    Raises:
        django.db.Error: as from Django's own cursors.
    """
    connection = current()
    connection.ensure_connection()
    with connection.guard(), connection.wrap_database_errors:
        raw = connection.connection
        if not raw.autocommit and raw.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            raw.execute("SELECT 1")  # psycopg begins the transaction that Django is in
        result = _execute(connection, sql, [_text(each) for each in parameters])
        connection.transformer.set_pgresult(result)
        rows = connection.transformer.load_rows(0, result.ntuples, tuple)
    if connection.queries_logged:
        connection.queries_log.append({"sql": connection.ops.compose_sql(sql, parameters)})
    return rows


def fetch_planned(sql: str, parameters: Sequence[Any]) -> list[Row]:
    """Runs a statement that is planned for its values, and returns its rows.

    Like `fetch`, it avoids psycopg's cursors and Django's loader of times, which take a millisecond
    of processor time for 25 documents.

    Args:
        sql: with `%s` for each parameter. Settings may come before it (`SET LOCAL …;`).
        parameters: each is of a type that psycopg writes as a literal.

    Raises:
        django.db.Error: as from Django's own cursors.
    """
    connection = current()
    connection.ensure_connection()
    with connection.guard(), connection.wrap_database_errors:
        text = psycopg.ClientCursor(connection.connection).mogrify(sql, parameters)
        result = connection.connection.run(text.encode())
        loader = Transformer()
        loader.set_pgresult(result)
        rows = loader.load_rows(0, result.ntuples, tuple)
    if connection.queries_logged:
        connection.queries_log.append({"sql": text})
    return rows


def _execute(connection: DatabaseWrapper, sql: str, values: list[Any]) -> PGresult:
    """Executes a statement, which is prepared first if this connection does not know it.

    After DISCARD ALL, or behind a pooler that does not track statements, the server may have lost
    it. A migration may have changed the type of a column that it returns. It is prepared again,
    unless the error has already ended a transaction.
    """
    raw: Connection = connection.connection
    try:
        return raw.run_prepared(connection.prepared.get(sql) or _prepare(connection, sql), values)
    except (InvalidSqlStatementName, FeatureNotSupported) as exc:
        connection.prepared.clear()
        connection.generation += isinstance(exc, FeatureNotSupported)  # its result has changed
        if raw.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            raise
        return raw.run_prepared(_prepare(connection, sql), values)


def _text(value: Any) -> Any:  # PGconn's type for parameters is a list of exactly one kind
    return None if value is None else str(value).encode()


def _prepare(connection: DatabaseWrapper, sql: str) -> bytes:
    """Prepares a statement under the hash of its text and the connection's generation.

    Equal names always mean equal statements, even behind a connection pooler.
    """
    first, *rest = sql.split("%s")
    text = (first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()
    salted = b"%d %s" % (connection.generation, text)
    name = hashlib.sha256(salted).hexdigest()[:32].encode()
    with contextlib.suppress(DuplicatePreparedStatement):
        connection.connection.prepare(name, text)
    connection.prepared[sql] = name
    return name


def limit_statements(connection: DatabaseWrapper, **_: Any) -> None:
    """Signal receiver: limits the statements of a server's new connection."""
    connection.limited = True
    _set(
        connection,
        client_connection_check_interval=CLIENT_CHECK_SECONDS,
        statement_timeout=API_SECONDS,
        lock_timeout=LOCK_SECONDS,
    )


@contextlib.contextmanager
def page_limits() -> Iterator[None]:
    """Gives the statements of a page more time than those of the API; in servers only.

    Raises:
        django.db.Error: the database is out of reach.
    """
    connection = current()
    connection.ensure_connection()
    if not connection.limited:
        yield
        return
    page = {"statement_timeout": PAGE_SECONDS, "lock_timeout": PAGE_SECONDS}
    try:
        _set(connection, **page)
    except Error:  # it died while it was idle, and is replaced
        _set(connection, **page)
    try:
        yield
    finally:
        with contextlib.suppress(Error):
            _set(connection, statement_timeout=API_SECONDS, lock_timeout=LOCK_SECONDS)


@contextlib.contextmanager
def part_limits(seconds: float) -> Iterator[None]:
    """Gives each statement of a part of a page so long. The circuit breaker does not count them.

    Raises:
        django.db.Error: the database is out of reach.
    """
    connection = current()
    with connection.guard(counts=False):
        _set(connection, statement_timeout=seconds)
        try:
            yield
        finally:
            with contextlib.suppress(Error):
                _set(connection, statement_timeout=PAGE_SECONDS if connection.limited else 0)


def _set(connection: DatabaseWrapper, **seconds: float) -> None:
    """Sets these parameters of the connection, in one statement; closes one that fails.

    Raises:
        django.db.Error: the database is out of reach.
    """
    calls = ", ".join(f"set_config('{name}', '{value}s', false)" for name, value in seconds.items())
    connection.ensure_connection()
    try:
        with connection.guard(seconds=PING_SECONDS), connection.cursor() as cursor:
            cursor.execute(f"SELECT {calls}")
    except Error:
        connection.close()
        raise
