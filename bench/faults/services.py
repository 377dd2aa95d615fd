"""The services that the instances use, and what can happen to them."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import psycopg
from psycopg import sql

from config import embedded
from config.embedded import SERVICES

FOLDER = embedded.data_dir(os.environ) / "faults"
PATIENCE = 60.0  # seconds that a service gets to accept connections again


def provide() -> None:
    """Starts PostgreSQL, object storage and Redis on data of their own, in a normal state."""
    for variable in [service.variable for service in SERVICES.values()]:
        os.environ.pop(variable, None)
    embedded.provide(os.environ, FOLDER, tuple(SERVICES))
    os.environ["LOG_LEVEL"] = "ERROR"
    POSTGRES.wait()
    with administrator() as connection:  # an earlier run may have been killed
        connection.execute("ALTER SYSTEM RESET ALL")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(_connection_limit(-1))


def resume() -> None:
    """Lets all services go on: a run that is interrupted leaves none stopped."""
    for process in processes():
        process.resume()


def processes() -> list[psutil.Process]:
    """All services' processes, with their supervisors."""
    supervisors = [each.supervisor() for each in (POSTGRES, S3, REDIS)]
    return [p for s in supervisors for p in (s, *s.children(recursive=True))]


def administrator() -> psycopg.Connection:
    """A connection of the database's superuser."""
    password = json.loads((FOLDER / "postgres" / "secrets.json").read_text())["postgres"]
    url = urlsplit(os.environ["DATABASE_URL"])
    return psycopg.connect(
        host=url.hostname,
        port=url.port,
        dbname=url.path[1:],
        user="postgres",
        password=password,
        connect_timeout=5,
        autocommit=True,
    )


class Service:
    """One service with its supervisor, which restarts it when it dies."""

    def __init__(self, name: str) -> None:
        self.name = name

    def supervisor(self) -> psutil.Process:
        """The process that starts it again."""
        end = [self.name, str(FOLDER / self.name)]
        found = psutil.process_iter(["cmdline"])
        return next(each for each in found if (each.info["cmdline"] or [])[-2:] == end)

    def wait(self) -> None:
        """Returns when it accepts connections."""
        url = urlsplit(os.environ[SERVICES[self.name].variable])
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, psycopg.OperationalError):
                if self is POSTGRES:
                    administrator().close()
                else:
                    socket.create_connection((url.hostname, url.port or 80), timeout=5).close()
                return
            time.sleep(0.1)
        raise TimeoutError(f"{self.name} does not accept connections")

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """All of its processes are killed; its supervisor restarts it at the end only."""
        supervisor = self.supervisor()
        supervisor.suspend()
        try:
            for process in supervisor.children(recursive=True):
                process.kill()
            yield
        finally:
            supervisor.resume()
            self.wait()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """All of its processes are stopped: connections are accepted, nothing is answered."""
        stopped = []
        try:
            for _ in range(2):  # the first round misses those that are just being made
                for process in self.supervisor().children(recursive=True):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.suspend()
                        stopped.append(process)
            yield
        finally:
            for process in stopped:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.resume()

    @contextlib.contextmanager
    def restarted(self) -> Iterator[None]:
        """It ends as an operator ends it, and its supervisor restarts it at once."""
        [main] = self.supervisor().children()
        main.send_signal(SERVICES[self.name].stop_signal)
        main.wait(PATIENCE)
        self.wait()
        yield


POSTGRES, S3, REDIS = (Service(name) for name in ("postgres", "s3", "redis"))


@contextlib.contextmanager
def read_only() -> Iterator[None]:
    """No transaction may write, as on a standby."""
    try:
        _alter("ALTER SYSTEM SET default_transaction_read_only = on")
        yield
    finally:
        _alter("ALTER SYSTEM RESET default_transaction_read_only")


def _alter(statement: str) -> None:
    with administrator() as connection:
        connection.execute(statement.encode())
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)  # another process reloads


@contextlib.contextmanager
def locked(table: str) -> Iterator[None]:
    """Another session has locked a table, as a careless migration does."""
    with administrator() as connection, connection.transaction():
        connection.execute(sql.SQL("LOCK TABLE {}").format(sql.Identifier(table)))
        yield


def _connection_limit(limit: int) -> sql.Composed:
    role = urlsplit(os.environ["DATABASE_URL"]).username
    return sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(
        sql.Identifier(role or ""), sql.Literal(limit)
    )


@contextlib.contextmanager
def no_connections() -> Iterator[None]:
    """The application's connections are ended, and there are none for it (SQLSTATE 53300)."""
    with administrator() as connection:
        connection.execute(_connection_limit(0))
        try:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                [urlsplit(os.environ["DATABASE_URL"]).username],
            )
            yield
        finally:
            connection.execute(_connection_limit(-1))
