"""Connections to PostgreSQL: prepared statements, failed connections, time-outs, roles."""

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dj_database_url
from django.conf import settings
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import (
    DEFAULT_DB_ALIAS,
    Error,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    close_old_connections,
    connection,
    connections,
    reset_queries,
)
from django.db.backends.signals import connection_created
from psycopg import Cursor
from psycopg.errors import ConnectionTimeout
from psycopg.rows import args_row, tuple_row

# Errors that pass by themselves: the response is a 503. psycopg reports a server that is read-only
# during a failover as InternalError, and a prepared statement whose columns have changed since
# as NotSupportedError.
UNAVAILABLE = (InterfaceError, InternalError, NotSupportedError, OperationalError)

HUNG_SECONDS = 30.0  # for which a process that is not busy has asked nothing

Parameters = Sequence[Any] | Mapping[str, Any]

_hangs = False
_asked_at = 0.0  # on the monotonic clock
_thread = threading.local()  # a cursor each: a new one would take a third of a short statement


def connect_as(name: str) -> None:
    """What PostgreSQL calls this process's connections from now on; those of this thread end."""
    connection.close()
    os.environ["PGAPPNAME"] = name


# Each process that is counted asks something every few seconds. The states of other roles' sessions
# are null for a role that may not see them.
_PROCESSES = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = %s AND pid <> pg_backend_pid()
        AND (state = 'active' OR state_change > clock_timestamp() - make_interval(secs => %s))
            IS NOT FALSE
"""


def processes(name: str) -> int:
    """How many run at present that have connected by this name, without those that hang."""
    [(number,)] = fetch(_PROCESSES, [name, HUNG_SECONDS])
    return int(number)


def fetch(sql: str, parameters: Parameters, row: Callable[..., Any] | None = None) -> list[Any]:
    """Runs a prepared statement on this thread's connection and returns its rows, if it has any.

    Django's own cursor sends values inside the statement's text. PostgreSQL then parses and plans
    it each time, and Django's loader of times is Python: 2 ms more for a page of documents.

    A text stays prepared as long as the connection lasts, so there must be few texts. No value may
    be part of one.

    Args:
        sql: with `%s` or `%(name)s` for each parameter.
        row: makes a row of its columns; a tuple without it.
    """
    database: Any = connections[DEFAULT_DB_ALIAS]
    database.ensure_connection()
    if database.queries_logged:
        database.queries_log.append({"sql": database.ops.compose_sql(sql, parameters)})
    cursor: Cursor[Any] | None = getattr(_thread, "cursor", None)
    if cursor is None or cursor.connection is not database.connection:
        cursor = _thread.cursor = Cursor(database.connection)
    with database.wrap_database_errors:
        cursor.row_factory = args_row(row) if row else tuple_row
        cursor.execute(sql, parameters, prepare=True, binary=True)
        # Not `cursor.description`, which makes an object for each column.
        return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []


def fetch_with_retry(sql: str, parameters: Parameters, row: Callable[..., Any]) -> list[Any]:
    """Like `fetch`, for the first statement of a request, which must be a SELECT.

    The connection may have died while it was idle. The statement is tried once more on a new one.
    """
    try:
        return fetch(sql, parameters, row)
    except UNAVAILABLE:
        if connection.connection is None or not connection.connection.closed:
            raise  # there was no connection, or it still works
        connection.close()
        return fetch(sql, parameters, row)


def connect_receivers() -> None:
    """Connects receivers to Django's signals, and disconnects those that the API does not need.

    Django looks at every connection before and after each request, which takes 3 to 9 % of its
    time; with CONN_HEALTH_CHECKS it also sends a statement, which takes 18 to 32 %. In the API
    `fetch_with_retry` finds a dead connection instead, and `close_failed` closes a failed one.
    """
    connection_created.connect(close_with_thread)
    if not settings.SERVES_PAGES:
        request_started.disconnect(reset_queries)
        request_started.disconnect(close_old_connections)
        request_finished.disconnect(close_old_connections)
        request_finished.disconnect(close_caches)  # ours has nothing to close
        request_finished.connect(close_failed)


class _Owner:
    """Exists as long as its thread: granian ends threads that are idle.

    Django's own object is part of a cycle, which the garbage collector may find hours later.
    """


def close_with_thread(connection: Any, **kwargs: Any) -> None:
    if connection in connections.all(initialized_only=True):  # not a copy
        _thread.owner = _Owner()
        weakref.finalize(_thread.owner, connection.connection.close)


def close_failed(**kwargs: Any) -> None:
    if connection.errors_occurred and not connection.in_atomic_block:
        connection.close()


def hangs() -> bool:
    """Whether PostgreSQL accepts a connection and does not respond to it.

    While it hangs it does not end statements either. The result may be 0.2 s old.
    """
    global _hangs, _asked_at
    if time.monotonic() > _asked_at + 0.2:
        _asked_at = time.monotonic()  # meanwhile, other threads have the last result
        try:
            with contextlib.closing(connection.copy()) as other:
                other.ensure_connection()
            _hangs = False
        except Error as exc:
            _hangs = isinstance(exc.__cause__, ConnectionTimeout)
            _asked_at = time.monotonic()
    return _hangs


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


@contextlib.contextmanager
def as_role(url: str) -> Iterator[None]:
    """This thread's connection belongs to the role of this URL meanwhile, if there is a URL.

    Not inside of a transaction.
    """
    before = connection.settings_dict
    connection.close()
    if url:
        role: dict[str, Any] = dict(dj_database_url.parse(url))
        same = ("USER", "PASSWORD", "HOST", "PORT")
        options = {**before["OPTIONS"], **role.get("OPTIONS", {})}
        connection.settings_dict = {**before, **{name: role[name] for name in same}}
        connection.settings_dict["OPTIONS"] = options
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before
