"""Deadlines of database statements: a connection whose server is late is closed.

psycopg's statements have no time-out, and the server's own does not help if the server is silent.
"""

import select
import time
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg import generators, pq
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

API_SECONDS = 5.0  # for a request to the API, and for a statement of it
PAGE_SECONDS = 30.0  # the same for pages
LOCK_SECONDS = 2.0  # that a statement of the API waits for a lock
GRACE = 0.3  # seconds; the server's own time-out comes first, which keeps the connection

_SUCCESS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)

Result = TypeVar("Result")


class HasDeadline(Protocol):
    """Django's object for a connection.

    Attributes:
        ends: until when its statement may take, on the monotonic clock; None for no limit.
    """

    ends: float | None


class Connection(psycopg.Connection[Any]):
    """psycopg's connection, which waits for the server no longer than its owner may."""

    owner: HasDeadline | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._readable = select.poll()
        self._readable.register(self.pgconn.socket, select.POLLIN)

    def _seconds(self) -> float | None:
        """That it may still wait."""
        if self.owner is None or self.owner.ends is None:
            return None
        return max(0.0, self.owner.ends - time.monotonic())

    def wait(
        self, gen: PQGen[Result], interval: float = 0.1, timeout: float | None = None
    ) -> Result:
        """All waiting of psycopg's.

        Raises:
            psycopg.OperationalError: it is late, and closed.
        """
        try:
            return super().wait(gen, interval, self._seconds())
        except psycopg.OperationalError:
            if self._seconds() == 0:
                self.close()
            raise

    def prepare(self, name: bytes, sql: bytes) -> None:
        """Prepares a statement on the server. Errors as of `run_prepared`."""
        self.pgconn.send_prepare(name, sql)
        self._result()

    def run_prepared(self, name: bytes, values: Sequence[Any]) -> PGresult:
        """The result of a prepared statement, in PostgreSQL's binary format.

        It takes 6 µs less than with psycopg's `wait`.

        Raises:
            psycopg.OperationalError: the connection is lost; or it is late, and closed.
            psycopg.Error: the server refuses.
        """
        self.pgconn.send_query_prepared(name, values, result_format=pq.Format.BINARY)
        return self._result()

    def run(self, sql: bytes) -> PGresult:
        """The result of the last of these statements. Errors as of `run_prepared`."""
        self.pgconn.send_query(sql)
        return self._result()

    def _result(self) -> PGresult:
        pgconn = self.pgconn
        if pgconn.flush():  # it is large, and the server reads slowly
            self.wait(generators.send(pgconn))
        result: PGresult | None = None
        while True:
            if pgconn.is_busy():
                seconds = self._seconds()
                if not self._readable.poll(None if seconds is None else seconds * 1000):
                    self.close()
                    raise psycopg.OperationalError("the server has not responded in time")
                pgconn.consume_input()
            elif following := pgconn.get_result():
                result = following
            elif result and result.status in _SUCCESS:
                return result
            else:
                assert result is not None  # noqa: S101 - libpq returns at least one
                raise error_from_result(result)
