"""A real granian process that serves the test database, behind proxies that can be cut."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from config.database import fetch
from config.embedded.service import free_port
from tests import openapi
from tests.client import Response
from tests.proxy import HOST, Proxy

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds to wait for what must happen
STOP_PATIENCE = 15.0  # seconds before a server that does not stop is killed
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


def wait_for_completions() -> None:
    """Waits until the server has recorded how each download ended, which is after its last byte.

    Otherwise an entry of this test could appear in the next one. Some tests prevent such an entry,
    so the wait is short.
    """
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        [[running]] = fetch(
            "SELECT count(*) FROM audit_auditentry AS started WHERE action = 'document.downloaded'"
            " AND NOT EXISTS (SELECT FROM audit_auditentry AS ended WHERE ended.action ="
            " 'document.download_ended' AND ended.request_id = started.request_id)",
            [],
        )
        if not running:
            return
        time.sleep(0.02)


def end_connections() -> int:
    """Ends all other connections to the tests' database, as its restart does.

    Returns:
        How many it has ended.
    """
    [[ended]] = fetch(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        [],
    )
    return int(ended)


def test_database_url() -> str:
    """DATABASE_URL with the name of the database that the tests use."""
    database = settings.DATABASES["default"]["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()


class Server:
    """One server process on a free port.

    Attributes:
        database, store, counter: the proxies in front of PostgreSQL, S3 and Redis.
        port: the port that it listens on.

    Args:
        threads: how many requests it handles at the same time.
        environment: further variables.
    """

    def __init__(self, folder: Path, threads: int = 4, **environment: str) -> None:
        self.database = Proxy(test_database_url())
        self.store = Proxy(os.environ["S3_ENDPOINT_URL"])
        self.counter = Proxy(os.environ["REDIS_URL"])
        self.port = free_port()
        self._log = folder / "log"
        granian = [str(Path(sys.executable).parent / "granian"), "--interface", "wsgi"]
        options = ["--host", HOST, "--port", str(self.port), "--blocking-threads", str(threads)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", EXEC, *granian, *options, "config.wsgi:application"],
                cwd=ROOT,
                env={
                    **os.environ,
                    "DATABASE_URL": self.database.url,
                    "S3_ENDPOINT_URL": self.store.url,
                    "REDIS_URL": self.counter.url,
                    "HTTPS_ONLY": "no",  # a browser keeps the cookies it gets from http
                    **environment,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # one group, to be killed whole
            )

    def wait(self) -> None:
        """Returns when it responds to requests."""
        assert eventually(self._responds), self.log()

    def _responds(self) -> bool:
        assert self._process.poll() is None, self.log()
        return self.listens() and self.get("/me").status == 401

    def listens(self) -> bool:
        """Whether connections are accepted."""
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    @property
    def group(self) -> int:
        """The id of the process group that it and its workers are."""
        return self._process.pid

    def kill(self) -> None:
        """Kills it and its worker, as the kernel does when it runs out of memory."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """Stops it and its proxies."""
        self._process.terminate()
        try:
            self._process.wait(STOP_PATIENCE)
        except subprocess.TimeoutExpired:  # granian can miss a signal while its worker starts
            self.kill()
        for proxy in (self.database, self.store, self.counter):
            proxy.stop()

    def restore(self) -> None:
        """Opens all proxies again."""
        for proxy in (self.database, self.store, self.counter):
            proxy.restore()

    def log(self) -> str:
        """All that it has written so far."""
        return self._log.read_text()

    def log_of(self, response: Response) -> str:
        """The lines of the log that belong to one request, with tracebacks."""
        marked = rf"^\S+ \S+ \w+ \S+ \[{response.headers['request-id']}\] .*\n(?:(?!\d{{4}}-).*\n)*"
        return "".join(re.findall(marked, self.log(), re.MULTILINE))

    def get(
        self, path: str, raw: str | None = None, method: str = "GET", **headers: str
    ) -> Response:
        """Sends a request over a socket, with a raw key; `path` is without /api/v1."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if raw is not None:
            sent["Authorization"] = f"Bearer {raw}"
        connection = self.http()
        with contextlib.closing(connection):
            connection.request(method, f"/api/v1{path}", headers=sent)
            received = connection.getresponse()
            body = received.read()
        received_headers = {name.lower(): value for name, value in received.getheaders()}
        openapi.check_response(method, f"/api/v1{path}", received.status, received_headers, body)
        return Response(received.status, received_headers, body)

    def http(self) -> HTTPConnection:
        """A connection for HTTP requests."""
        return HTTPConnection(HOST, self.port, timeout=PATIENCE)

    def raw(self, request: bytes) -> bytes:
        """Sends these bytes and returns what comes back until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        openapi.check_raw_response(request, received)
        return received

    def connect(self) -> socket.socket:
        """A connection of the test's own."""
        return socket.create_connection((HOST, self.port), timeout=PATIENCE)
