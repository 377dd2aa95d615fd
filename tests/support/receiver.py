"""A receiver of webhooks: a small HTTP server that keeps what arrives, and what delivers to it."""

import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from config.connections import processes
from events.webhooks import monitoring, secrets
from events.webhooks.models import Endpoint
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import EXEC, ROOT, STOP_PATIENCE, serving_environment, test_database_url

Scripted = tuple[int, dict[str, str], bytes]


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes
    at: float  # seconds of a clock

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class _Handler(BaseHTTPRequestHandler):
    server: "Receiver"

    def do_POST(self) -> None:
        length = int(self.headers["content-length"] or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            return  # the sender was killed
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.add(Received(self.path, headers, body, time.monotonic()))
        if self.server.script:
            self.respond(*self.server.next_of_script())
            return
        _, status, *how = self.path.partition("?")[0].split("/")
        if "slow" in how:
            self.server.stopped.wait(60)
        if "raw" in how:
            self.wfile.write(self.server.content)
            return
        self.respond(int(status or 200), self.server.headers, b"")
        if "trickle" in how:
            with contextlib.suppress(OSError):
                while not self.server.stopped.wait(0.2):
                    self.wfile.write(b".")
        with contextlib.suppress(OSError):
            self.wfile.write(self.server.content)

    def respond(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST  # noqa: N815 - the names that the base class looks for

    def log_message(self, *args: Any) -> None:
        """Prints nothing."""


class Receiver(ThreadingHTTPServer):
    """Listens until it is stopped.

    Attributes:
        content, headers: of each response.
        script: responses that come one after the other instead, whatever the path; the last again.
        delay: seconds before each response.
        most_at_once: how many requests to a path there were at the same time.
    """

    daemon_threads = True
    request_queue_size = 500

    def __init__(self, address: str = HOST, certificate: Path | None = None) -> None:
        super().__init__((address, 0), _Handler)
        self.received: list[Received] = []
        self.content = b"thanks"
        self.headers: dict[str, str] = {}
        self.script: list[Scripted] = []
        self.delay = 0.0
        self.stopped = threading.Event()
        self.at_once: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str = "/200", host: str = HOST) -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def add(self, received: Received) -> None:
        with self._lock:
            self.received.append(received)
            self.at_once[received.path] += 1
            self.most_at_once |= self.at_once
        if self.delay:
            time.sleep(self.delay)
        with self._lock:
            self.at_once[received.path] -= 1

    def next_of_script(self) -> Scripted:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: a failed handshake is what a test wants."""

    def stop(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()


@contextlib.contextmanager
def receiving(**options: Any) -> Iterator[Receiver]:
    receiver = Receiver(**options)
    try:
        yield receiver
    finally:
        receiver.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


def closed_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def endpoint(tenant: Tenant, url: str, *types: str, **fields: Any) -> tuple[Endpoint, str]:
    """An endpoint and its raw secret."""
    raw = secrets.new()
    made = Endpoint.objects.create(
        workspace=tenant.workspace,
        url=url,
        types=list(types or ("document.sent",)),
        secret=secrets.encrypt(raw),
        **fields,
    )
    return made, raw


def start_delivering(
    log: Path, command: str = "deliver_webhooks", **environment: str
) -> "subprocess.Popen[bytes]":
    """A real process, that delivers to laptops too."""
    words = [sys.executable, "manage.py", *command.split()]
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-c", EXEC, *words],
            cwd=ROOT,
            env={
                **serving_environment(),
                "DATABASE_URL": test_database_url(),
                "WEBHOOK_TARGETS": "any",
                "PYTHONWARNINGS": "error",
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def stop_delivering(process: "subprocess.Popen[bytes]") -> int:
    """Ends it as systemd does; returns its status."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
    return process.wait(STOP_PATIENCE + 15)


@contextlib.contextmanager
def delivering(
    log: Path, command: str = "deliver_webhooks", **environment: str
) -> Iterator["subprocess.Popen[bytes]"]:
    process = start_delivering(log, command, **environment)
    try:
        yield process
    finally:
        stop_delivering(process)


def delivers() -> int:
    return processes(monitoring.PROCESS)
