"""A real nginx with the files in deploy/, in front of real servers with X-Accel redirects."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from config.ports import free_port
from tests.support import nginx_files
from tests.support.client import Response
from tests.support.proxy import HOST
from tests.support.server import EXEC, PATIENCE, Server, eventually


def program(name: str, package: str) -> str:
    """The path of a program in this package of Debian's. Only CI must have it."""
    # Debian installs some where only root's PATH leads.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None and "CI" not in os.environ:
        pytest.skip(f"{name} is not installed (on Debian: apt-get install {package})")
    assert found, f"{name} is not installed"
    return found


def request(path: str, *headers: str, method: str = "GET") -> bytes:
    """An HTTP request that closes its connection."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def exchange(connection: socket.socket, request: bytes) -> Response:
    """Sends bytes and reads the response to the first request.

    It does not wait until the server closes: nginx does so seconds after a body that it refuses.
    """
    with connection:
        with contextlib.suppress(OSError):  # the server may refuse before it has read all
            connection.sendall(request)
        received = HTTPResponse(connection)
        received.begin()
        headers = {name.lower(): value for name, value in received.getheaders()}
        return Response(received.status, headers, received.read())


def make_certificate(folder: Path, names: str = f"DNS:localhost,DNS:{HOST},IP:{HOST}") -> Path:
    """Writes a certificate and its key, as deploy/nginx.conf names them; returns a file of both."""
    openssl = program("openssl", "openssl")
    folder.mkdir()
    key, certificate, both = (folder / f"{each}.pem" for each in ("key", "certificate", "both"))
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    )
    options = ["-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *words.split(), *options], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both


class Nginx(Server):
    """A server behind nginx: its responses are those that nginx passes on.

    Attributes:
        http_port: the port for plain HTTP, which only redirects and refuses.

    Args:
        tls: nginx serves HTTPS, with `certificate`, and the application requires it.
        instances: how many of the API nginx balances over, 1 or 2.
    """

    def __init__(
        self, folder: Path, *, tls: bool = False, instances: int = 1, **environment: str
    ) -> None:
        program("nginx", "nginx-light")
        environment = {
            "X_ACCEL_DOWNLOADS": "yes",
            "TRUSTED_PROXIES": "1",
            "HTTPS_ONLY": "yes" if tls else "no",
            **environment,
        }
        super().__init__(folder, **environment)
        self.second: Server | None = None
        ports = [self.port]
        if instances == 2:
            (folder / "second").mkdir()
            self.second = Server(folder / "second", **environment)
            ports.append(self.second.port)
        (folder / "pages").mkdir()
        self.pages = Server(folder / "pages", **{**environment, "ROLE": "pages"})
        self._others = [each for each in (self.second, self.pages) if each]
        self.port, self.http_port = free_port(), free_port()
        home = folder / "nginx"
        home.mkdir()
        self.logs = home / "logs"
        self.certificate = home / "tls" / "certificate.pem"
        if tls:
            make_certificate(self.certificate.parent)
        store = urlsplit(self.store.url).netloc
        command = nginx_files.install(
            home, self.port, ports, store, pages=self.pages.port, http_port=self.http_port, tls=tls
        )
        self._nginx = subprocess.Popen([sys.executable, "-c", EXEC, *command])

    def wait(self) -> None:
        super().wait()
        for each in self._others:
            each.wait()

    def http(self) -> HTTPConnection:
        if not self.certificate.exists():
            return super().http()
        context = ssl.create_default_context(cafile=self.certificate)
        return HTTPSConnection(HOST, self.port, timeout=PATIENCE, context=context)

    def change(self, patterns: dict[str, str]) -> None:
        """Replaces these patterns in its files, and returns when its workers have read them."""
        for name in nginx_files.FILES:
            file = self.logs.parent / name
            text = file.read_text()
            for pattern, replacement in patterns.items():
                text = re.sub(pattern, replacement, text)
            file.write_text(text)
        workers = psutil.Process(self._nginx.pid).children()
        self._nginx.send_signal(signal.SIGHUP)
        assert eventually(lambda: not any(worker.is_running() for worker in workers))

    def stop(self) -> None:
        self._nginx.terminate()
        self._nginx.wait(PATIENCE)
        for each in self._others:
            each.stop()
        super().stop()

    def restore(self) -> None:
        super().restore()
        for each in self._others:
            each.restore()

    def written(self) -> str:
        return "".join(file.read_text() for file in self.logs.iterdir())

    def from_address(self, address: str) -> HTTPConnection:
        """A connection that stays open, from another address of this machine."""
        connection = self.http()
        connection.source_address = (address, 0)  # type: ignore[attr-defined]
        return connection

    def plain(self, port: int, path: str, *headers: str) -> Response:
        return exchange(socket.create_connection((HOST, port)), request(path, *headers))

    def tls(self, **options: Any) -> ssl.SSLSocket:
        """A connection of the test's own, with these attributes of its SSLContext."""
        context = ssl.create_default_context(cafile=self.certificate)
        for name, value in options.items():
            setattr(context, name, value)
        return context.wrap_socket(self.connect(), server_hostname="localhost")

    def logged(self, request_id: str) -> dict[str, Any]:
        def find() -> list[dict[str, Any]]:
            lines = map(json.loads, (self.logs / "access.log").read_text().splitlines())
            return [line for line in lines if line["request_id"] == request_id]

        (line,) = eventually(find)
        return dict(line)
