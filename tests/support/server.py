"""A real granian process that serves the test database, behind proxies that can be cut."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import psutil
from django.conf import settings

from config import cache
from config.connections import fetch
from config.ports import free_port
from tests.support import openapi
from tests.support.client import Response
from tests.support.proxy import HOST, Proxy

ROOT = Path(__file__).resolve().parent.parent.parent
THREADS = 8
PATIENCE = 60.0  # seconds to wait for what must happen
STOP_PATIENCE = 15.0  # seconds before a server that does not stop is killed
RECOVERY = 5.0  # seconds in which a server must use the database again that is back
UNKNOWN_KEY = "dtd_" + 40 * "0"  # the database is asked for it
# Linux: the server is stopped when the tests are killed.
EXEC = (
    "import ctypes, os, signal, sys; "
    "sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def eventually(what: Callable[[], Any]) -> Any:
    """Waits until `what()` is true, and returns it; its last value if that does not happen."""
    deadline = time.monotonic() + PATIENCE
    while not (value := what()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


# Autovacuum, which a test may not end, has no role.
_OTHERS = """
    FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
"""


def other_connections() -> list[int]:
    """This role's other connections to the tests' database: the ids of PostgreSQL's processes."""
    return [pid for (pid,) in fetch(f"SELECT pid {_OTHERS}", [])]


def end_connections() -> int:
    """Ends the other connections, as a restart of the database does; returns how many."""
    return len(fetch(f"SELECT pg_terminate_backend(pid) {_OTHERS}", []))


def serving_environment() -> dict[str, str]:
    """The environment of a server of the API: as in production, without other database roles."""
    others = ("DATABASE_OWNER_URL", "DATABASE_SEALER_URL")
    own = {name: value for name, value in os.environ.items() if name not in others}
    return {**own, "ROLE": "api"}  # that of the tests' own process is "pages"


def test_database_url() -> str:
    """DATABASE_URL with the name of the database that the tests use."""
    database = settings.DATABASES["default"]["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()


def granian(port: int) -> list[str]:
    options = "--interface wsgi --http 1 --no-ws --workers 1 --respawn-failed-workers"
    options += f" --workers-kill-timeout 10 --host {HOST} --port {port} --log-level warning"
    return [sys.executable, "-m", "granian", *options.split(), "config.wsgi:application"]


class Server:
    """One server process on a free port: of the API, or of pages with ROLE=pages.

    Attributes:
        database, store, counter: the proxies in front of PostgreSQL, S3 and Redis.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        self.database = Proxy(test_database_url())
        self.store = Proxy(os.environ["S3_ENDPOINT_URL"])
        self.counter = Proxy(os.environ["REDIS_URL"])
        self.port = self._own_port = free_port()
        self._serves_pages = environment.get("ROLE") == "pages"
        self._log = folder / "log"
        command = granian(self.port)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", EXEC, *command],
                cwd=ROOT,
                env={
                    **serving_environment(),
                    "DATABASE_URL": self.database.url,
                    "S3_ENDPOINT_URL": self.store.url,
                    "REDIS_URL": self.counter.url,
                    "GRANIAN_BLOCKING_THREADS": str(THREADS),
                    "GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT": "600",
                    # Never: it would write rows of this test while the next one runs.
                    "USAGE_FLUSH_SECONDS": "86400",
                    "HTTPS_ONLY": "no",  # a browser keeps the cookies it gets from http
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # one group, to be killed whole
            )

    def wait(self) -> None:
        assert eventually(self._responds), self.log()

    def _responds(self) -> bool:
        assert self._process.poll() is None, self.log()
        return self.listens() and self.request("/healthz").status == 200

    def listens(self) -> bool:
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def processes(self) -> list[psutil.Process]:
        main = psutil.Process(self._process.pid)
        return [main, *main.children(recursive=True)]

    def terminate(self, number: int = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    def wait_for_end(self, seconds: float) -> int | None:
        """Its exit status; None if it has not ended in time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def kill(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self.processes():
                process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:  # granian can miss a signal while its worker starts
            self.kill()
        for proxy in (self.database, self.store, self.counter):
            proxy.stop()

    def restore(self) -> None:
        """Opens all proxies again, and waits until the server uses what was disturbed again."""
        proxies = (self.database, self.store, self.counter)
        disturbed = [proxy for proxy in proxies if proxy.disturbed]
        for proxy in proxies:
            proxy.restore()
        if self.database in disturbed:
            assert self.recovers(), self.log()
        if self.counter in disturbed:
            time.sleep(cache.PAUSE)

    def recovers(self) -> bool:
        """Whether it uses the database again within the time that is promised."""
        deadline = time.monotonic() + RECOVERY
        path = "/admin/login/" if self._serves_pages else "/api/v1/me"
        authorization = f"Bearer {UNKNOWN_KEY}"
        while recovering := self.request(path, authorization=authorization).status == 503:
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return not recovering

    def log(self) -> str:
        return self._log.read_text()

    def log_of(self, response: Response) -> str:
        """The lines of the log that belong to one request, with tracebacks."""
        marked = rf"^\S+ \S+ \w+ \S+ \[{response.headers['request-id']}\] .*\n(?:(?!\d{{4}}-).*\n)*"
        return "".join(re.findall(marked, self.log(), re.MULTILINE))

    def lines_of(self, response: Response) -> list[dict[str, Any]]:
        """The same of a server that logs as JSON, but for the warning of a Redis that was slow."""
        id = response.headers["request-id"]
        found = [json.loads(line) for line in self.log().splitlines() if id in line]
        return [line for line in found if line["logger"] != "config.cache"]

    def get(
        self, path: str, raw: str | None = None, method: str = "GET", **headers: str
    ) -> Response:
        """Sends a request over a socket, with a raw key; `path` is without /api/v1."""
        if raw is not None:
            headers["Authorization"] = f"Bearer {raw}"
        return self.request(f"/api/v1{path}", method, None, **headers)

    def request(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(self.http()) as connection:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            content = response.read()
        received = {name.lower(): value for name, value in response.getheaders()}
        openapi.check_response(method, path, response.status, received, content)
        return Response(response.status, received, content)

    def metrics(self) -> str:
        """Its own, also if nginx is in front of it."""
        with contextlib.closing(HTTPConnection(HOST, self._own_port)) as connection:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()

    def http(self) -> HTTPConnection:
        return HTTPConnection(HOST, self.port, timeout=PATIENCE)

    def raw(self, request: bytes) -> bytes:
        """Sends these bytes and returns what comes back until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        openapi.check_raw_response(request, received)
        return received

    def connect(self, address: str = HOST) -> socket.socket:
        """A connection of the test's own, from an address of this machine."""
        return socket.create_connection((HOST, self.port), PATIENCE, (address, 0))


ServerType = TypeVar("ServerType", bound=Server)


@contextlib.contextmanager
def running(server: ServerType) -> Iterator[ServerType]:
    try:
        server.wait()
        yield server
    finally:
        server.stop()
