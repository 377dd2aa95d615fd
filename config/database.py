"""Prepared statements for the queries of the API, and the life of a server's connections.

PostgreSQL parses and plans a statement once for each connection, and psycopg's C code loads the
rows from PostgreSQL's binary format. `docs/decisions.md` compares the cost with psycopg's cursors.
"""

import hashlib
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

Row = tuple[Any, ...]

_SUCCESS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
_STATEMENT_EXISTS = b"42P05"
_NO_SUCH_STATEMENT = b"26000"


class _Prepared:
    """What a connection has prepared, by the statements' texts. One thread at a time uses it."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.names: dict[str, bytes] = {}
        self.transformer = Transformer(connection)


_prepared: WeakKeyDictionary[psycopg.Connection, _Prepared] = WeakKeyDictionary()


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
        prepared = _prepared.get(raw)
        if prepared is None:
            prepared = _prepared[raw] = _Prepared(raw)
        values = [None if value is None else str(value).encode() for value in parameters]
        result = _execute(raw.pgconn, prepared.names, sql, values)
        prepared.transformer.set_pgresult(result)
        rows = prepared.transformer.load_rows(0, result.ntuples, tuple)
    if connection.queries_logged:
        text = connection.ops.compose_sql(sql, parameters)  # type: ignore[attr-defined]
        connection.queries_log.append({"sql": text})
    return rows


def _execute(
    pgconn: pq.abc.PGconn, names: dict[str, bytes], sql: str, values: Sequence[Any]
) -> pq.abc.PGresult:
    """Executes a statement, which is prepared first if this connection does not know it.

    After DISCARD ALL, or behind a pooler that does not track statements, the server may have lost
    it: it is prepared again, unless the error has already ended a transaction.
    """
    name = names.get(sql) or _prepare(pgconn, names, sql)
    result = pgconn.exec_prepared(name, values, None, pq.Format.BINARY)
    if result.error_field(pq.DiagnosticField.SQLSTATE) == _NO_SUCH_STATEMENT:
        names.clear()
        if pgconn.transaction_status == pq.TransactionStatus.IDLE:
            name = _prepare(pgconn, names, sql)
            result = pgconn.exec_prepared(name, values, None, pq.Format.BINARY)
    _check(pgconn, result)
    return result


def _prepare(pgconn: pq.abc.PGconn, names: dict[str, bytes], sql: str) -> bytes:
    """Prepares a statement under the hash of its text.

    Equal names always mean equal statements, even behind a connection pooler.
    """
    first, *rest = sql.split("%s")
    text = (first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))).encode()
    name = hashlib.sha256(text).hexdigest()[:32].encode()
    result = pgconn.prepare(name, text)
    if result.error_field(pq.DiagnosticField.SQLSTATE) != _STATEMENT_EXISTS:
        _check(pgconn, result)
    names[sql] = name
    return name


def _check(pgconn: pq.abc.PGconn, result: pq.abc.PGresult) -> None:
    if result.status in _SUCCESS:
        return
    if pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(pgconn.get_error_message())
    raise error_from_result(result)
