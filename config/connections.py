"""A database connection lasts as long as the thread that opened it."""

import threading
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

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
