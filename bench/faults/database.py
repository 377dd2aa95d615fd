"""What can happen inside PostgreSQL while it runs."""

import contextlib
import os
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from bench.faults.node import Node
from bench.stack import Stack


def reset(stack: Stack) -> None:
    """Ends what an earlier run has left that was killed."""
    _alter(stack, "ALTER SYSTEM RESET ALL")
    with stack.administrator() as connection:
        connection.execute(_connection_limit(-1))


def _alter(stack: Stack, statement: str) -> None:
    with stack.administrator() as connection:
        connection.execute(statement.encode())
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)  # another process reloads


@contextlib.contextmanager
def read_only(node: Node) -> Iterator[None]:
    """No transaction may write, as on a standby."""
    try:
        _alter(node.stack, "ALTER SYSTEM SET default_transaction_read_only = on")
        yield
    finally:
        _alter(node.stack, "ALTER SYSTEM RESET default_transaction_read_only")


@contextlib.contextmanager
def locked(node: Node, table: str) -> Iterator[None]:
    """Another session has locked a table, as a careless migration does."""
    with node.stack.administrator() as connection, connection.transaction():
        connection.execute(f"LOCK TABLE {table}".encode())
        yield


def _role() -> str | None:
    return urlsplit(os.environ["DATABASE_URL"]).username


def _connection_limit(limit: int) -> bytes:
    return f"ALTER ROLE {_role()} CONNECTION LIMIT {limit}".encode()


@contextlib.contextmanager
def no_connections(node: Node) -> Iterator[None]:
    """The application's connections are ended, and there are none for it (SQLSTATE 53300)."""
    with node.stack.administrator() as connection:
        connection.execute(_connection_limit(0))
        try:
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
            connection.execute(end, [_role()])
            yield
        finally:
            connection.execute(_connection_limit(-1))


@contextlib.contextmanager
def dropped(node: Node) -> Iterator[None]:
    """Nothing arrives any longer, in either direction."""
    assert node.database  # noqa: S101 - the setup has it
    node.database.silence()
    try:
        yield
    finally:
        node.database.restore()
