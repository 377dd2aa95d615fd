"""Prepared statements, for what every request of the API asks the database.

Through here a statement costs this process 20 µs, through psycopg's cursor 140, through the ORM,
which builds its text anew each time, 2,000: PostgreSQL parses and plans it once a connection, and
psycopg's C code loads the rows from PostgreSQL's binary form.
"""

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

_GOOD = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)


class _Prepared(threading.local):
    """The statements that this thread's connection knows, by their text."""

    def __init__(self) -> None:
        self.names: dict[str, bytes] = {}
        self.connection: psycopg.Connection | None = None

    def use(self, connection: psycopg.Connection) -> None:
        """Begins anew when the connection is another one than before."""
        if connection is not self.connection:
            self.names = {}
            self.connection = connection
            self.transformer = Transformer(connection)


_prepared = _Prepared()


def fetch(sql: str, parameters: Sequence[Any]) -> list[Row]:
    """Runs one statement on this thread's connection and returns its rows, if it has any.

    Args:
        sql: with `%s` for each parameter. Each text stays prepared while the connection lasts:
            there may be few of them, and no value is ever part of it.
        parameters: None, or of any type whose `str()` PostgreSQL reads.

    Raises:
        django.db.Error: as Django's own cursors do.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    with connection.wrap_database_errors:
        raw = connection.connection
        if not raw.autocommit and raw.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            raw.execute("SELECT 1")  # psycopg begins the transaction that Django is in
        _prepared.use(raw)
        name = _prepared.names.get(sql) or _prepare(raw.pgconn, sql)
        values = [None if value is None else str(value).encode() for value in parameters]
        result = raw.pgconn.exec_prepared(name, values, None, pq.Format.BINARY)
        _check(raw.pgconn, result)
        _prepared.transformer.set_pgresult(result)
        rows = _prepared.transformer.load_rows(0, result.ntuples, tuple)
    if connection.queries_logged:
        text = connection.ops.compose_sql(sql, parameters)  # type: ignore[attr-defined]
        connection.queries_log.append({"sql": text})
    return rows


def _prepare(pgconn: pq.abc.PGconn, sql: str) -> bytes:
    name = f"statement_{len(_prepared.names)}".encode()
    first, *rest = sql.split("%s")
    numbered = first + "".join(f"${number}{part}" for number, part in enumerate(rest, 1))
    _check(pgconn, pgconn.prepare(name, numbered.encode()))
    _prepared.names[sql] = name
    return name


def _check(pgconn: pq.abc.PGconn, result: pq.abc.PGresult) -> None:
    if result.status in _GOOD:
        return
    if pgconn.status == pq.ConnStatus.BAD:
        raise psycopg.OperationalError(pgconn.get_error_message())
    raise error_from_result(result)


_thread = threading.local()


class _End:
    """Closes a connection when it is dropped: by a newer one, or with its thread's storage."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def __del__(self) -> None:
        self._connection.close()


def close_with_thread(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Receives `connection_created`, in a server whose threads come and go.

    Django's wrapper is part of a cycle, which the garbage collector finds much later, if ever:
    until then the connection of a thread that is gone takes a place at PostgreSQL.
    """
    vars(_thread)[connection.alias] = _End(connection.connection)
