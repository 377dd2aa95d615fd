"""Prepared statements for the queries of the API, and the life of a server's connections.

PostgreSQL parses and plans a statement once for each connection, and psycopg's C code loads the
rows from PostgreSQL's binary format. `docs/decisions.md` compares the cost with psycopg's cursors.
"""

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

Row = tuple[Any, ...]

_SUCCESS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_STATEMENT_EXISTS = b"42P05"
_NO_SUCH_STATEMENT = b"26000"


class _Prepared(threading.local):
    """The names of the statements that this thread's connection has prepared, by their text."""

    def __init__(self) -> None:
        self.names: dict[str, bytes] = {}
        self.connection: psycopg.Connection | None = None

    def use(self, connection: psycopg.Connection) -> None:
        """Forgets the prepared names if the connection has changed."""
        if connection is not self.connection:
            self.names = {}
            self.connection = connection
            self.transformer = Transformer(connection)


_prepared = _Prepared()


def fetch(sql: str, parameters: Sequence[Any]) -> list[Row]:
    """Runs one statement on this thread's connection and returns its rows, if it has any.

    Args:
        sql: with `%s` for each parameter. Each text stays prepared as long as the connection, so
            there must be few of them, and no value may be part of one.
        parameters: None, or values whose `str()` PostgreSQL can read.

    Raises:
        django.db.Error: as from Django's own cursors.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    with connection.wrap_database_errors:
        raw = connection.connection
        if not raw.autocommit and raw.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            raw.execute("SELECT 1")  # psycopg begins the transaction that Django is in
        _prepared.use(raw)
        values = [None if value is None else str(value).encode() for value in parameters]
        result = _execute(raw.pgconn, sql, values)
        _prepared.transformer.set_pgresult(result)
        rows = _prepared.transformer.load_rows(0, result.ntuples, tuple)
    if connection.queries_logged:
        text = connection.ops.compose_sql(sql, parameters)  # type: ignore[attr-defined]
        connection.queries_log.append({"sql": text})
    return rows


def _execute(pgconn: pq.abc.PGconn, sql: str, values: Sequence[Any]) -> pq.abc.PGresult:
    """Executes a statement, which is prepared first if this connection does not know it.

    After DISCARD ALL, or behind a pooler that does not track statements, the server may have lost
    it: it is prepared again, unless the error has already ended a transaction.
    """
    name = _prepared.names.get(sql) or _prepare(pgconn, sql)
    result = pgconn.exec_prepared(name, values, None, pq.Format.BINARY)
    if result.error_field(pq.DiagnosticField.SQLSTATE) == _NO_SUCH_STATEMENT:
        _prepared.names.clear()
        if pgconn.transaction_status == pq.TransactionStatus.IDLE:
            name = _prepare(pgconn, sql)
            result = pgconn.exec_prepared(name, values, None, pq.Format.BINARY)
    _check(pgconn, result)
    return result


def _prepare(pgconn: pq.abc.PGconn, sql: str) -> bytes:
    """Prepares a statement under the hash of its text.

    Equal names always mean equal statements, even behind a connection pooler.
    """
    first, *rest = sql.split("%s")
    text = (first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()
    name = hashlib.sha256(text).hexdigest()[:32].encode()
    result = pgconn.prepare(name, text)
    if result.error_field(pq.DiagnosticField.SQLSTATE) != _STATEMENT_EXISTS:
        _check(pgconn, result)
    _prepared.names[sql] = name
    return name


def _check(pgconn: pq.abc.PGconn, result: pq.abc.PGresult) -> None:
    if result.status in _SUCCESS:
        return
    if pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(pgconn.get_error_message())
    raise error_from_result(result)


_thread = threading.local()


class _Closer:
    """Closes a connection when the thread gets a newer one, or when the thread ends."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def __del__(self) -> None:
        self._connection.close()


def close_with_thread(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Signal receiver: closes a thread's connection when the thread ends.

    Django's wrapper is part of a reference cycle, which the garbage collector finds late, if ever.
    Until then the connection of a thread that has ended would stay open.
    """
    vars(_thread)[connection.alias] = _Closer(connection.connection)
