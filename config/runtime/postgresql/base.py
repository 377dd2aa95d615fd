"""Django's PostgreSQL engine, in which no request waits longer for the database than it may."""

import time
from collections.abc import Callable
from types import SimpleNamespace, TracebackType
from typing import Any

import psycopg
from django.db import OperationalError
from django.db.backends.postgresql import base
from psycopg.adapt import Transformer

from config.runtime.breaker import Breaker
from config.runtime.postgresql.deadlines import API_SECONDS, GRACE, Connection
from config.runtime.request_context import deadline

BREAKER = Breaker("database", failures=3)
# The API's prepared statements are planned once, since each has one good plan for all values.
# Django's own statements are not prepared. To compile one (JIT) would take longer than it runs.
# A process that hangs within a transaction holds up the others, and the feed of events.
IDLE_SECONDS = 60
# deploy/roles.sql gives the serving role the same, since a PgBouncer may leave these out.
SETTINGS = {
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
}
SESSION = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
PING_SECONDS = 2.0  # for a statement that only shows whether a connection works
# A lock that was not granted in time says nothing about the database: it has responded.
_TIMED_OUT = "57014"  # statement_timeout


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose statements end at the deadline of the request.

    A command has no deadline, and nothing guards its statements.

    Attributes:
        ends: until when the statement that runs may take, on the monotonic clock.
        limited: whether it is a connection of a server, where a statement has a deadline also when
            it runs after its request, such as while a body streams.
        prepared: the names of the statements that this connection has prepared, by their text.
        generation: part of these names. It changes when a migration has made those before
            unusable, which the server, or one behind a pooler, still has.
        transformer: psycopg's loader of rows.
    """

    _psycopg = {**vars(psycopg), "connect": Connection.connect}
    Database = SimpleNamespace(**_psycopg)  # type: ignore[assignment] # Django uses it like a module

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limited = False
        self.ends: float | None = None
        self.generation = 0
        self.execute_wrappers.append(self._execute)

    def guard(self, **options: Any) -> "Guard":
        """What a statement runs in; for `options` see `Guard`."""
        return Guard(self, **options)

    def _execute(self, execute: Callable[..., Any], *args: Any) -> Any:
        with self.guard():
            return execute(*args)

    def connect(self) -> None:
        with self.guard(connecting=True):
            try:
                super().connect()
            except BaseException:
                self.close()  # without its limits it must not be used
                raise

    def get_connection_params(self) -> dict[str, Any]:
        params = super().get_connection_params()
        return {
            **params,
            "options": f"{params.get('options', '')} {SESSION}".strip(),
            "connect_timeout": 3,  # seconds
            "tcp_user_timeout": 5000,  # milliseconds until a dead connection is closed; Linux only
        }

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        connection: Connection = super().get_new_connection(conn_params)
        connection.owner = self
        self.prepared: dict[str, bytes] = {}
        self.transformer = Transformer(connection)
        return connection

    def is_usable(self) -> bool:
        with self.guard(counts=False, seconds=PING_SECONDS):
            return super().is_usable()

    def _commit(self) -> None:
        with self.guard(counts=False):
            super()._commit()  # type: ignore[misc] # django-stubs lacks it

    def _rollback(self) -> None:
        with self.guard(counts=False):
            super()._rollback()  # type: ignore[misc] # this too


class Guard:
    """Runs a statement: refused while the breaker is open, cut off at the deadline.

    A guard inside of another one does nothing. Without a deadline there is nothing to guard.

    Args:
        connecting: every error means that the database is out of reach.
        counts: whether the breaker may refuse it and learns how it ends.
        seconds: a shorter time-out than the request's deadline.

    Raises:
        django.db.OperationalError: it is refused.
    """

    __slots__ = ("_connecting", "_connection", "_counts", "_guards", "_seconds")

    def __init__(
        self,
        connection: DatabaseWrapper,
        *,
        connecting: bool = False,
        counts: bool = True,
        seconds: float | None = None,
    ) -> None:
        self._connection = connection
        self._connecting = connecting
        self._counts = counts
        self._seconds = seconds
        self._guards = False

    def __enter__(self) -> None:
        end = deadline.get()
        if self._connection.ends is not None or (end is None and not self._connection.limited):
            return
        now = time.monotonic()
        if end is None:
            end = now + API_SECONDS
        if self._seconds is not None:
            end = min(end, now + self._seconds)
        if self._counts:
            if now >= end:
                raise OperationalError("the request's deadline has passed")
            if not BREAKER.admits():
                raise OperationalError("the database has failed repeatedly; it was not asked")
        self._guards = True
        self._connection.ends = end + GRACE

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._guards:
            return
        ends, self._connection.ends = self._connection.ends, None
        if not self._counts:
            return
        if exc is None:
            BREAKER.succeeded()
            return
        error = exc if isinstance(exc, psycopg.Error) else exc.__cause__  # as Django wraps it
        if not isinstance(error, psycopg.Error):
            return
        late = ends is not None and time.monotonic() >= ends
        if self._connecting or late or error.sqlstate == _TIMED_OUT:
            BREAKER.failed()
        elif isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            # A lost connection says nothing about the database. Connecting again does.
            BREAKER.undecided()
        else:
            BREAKER.succeeded()  # the server has refused the statement
