"""Clients that send and read slowly."""

import contextlib
import itertools
import socket
import threading

from tests.support.proxy import HOST, address_of

BLOCK = 256  # bytes that a slow reader takes at a time; four times a second

SIGN_IN_FORM = (
    f"POST /admin/login/ HTTP/1.1\r\nHost: {HOST}\r\nCookie: csrftoken={'a' * 32}\r\n"
    "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 10000\r\n\r\ncsrf"
).encode()  # its beginning


def download_request(document_id: object, raw: str) -> bytes:
    return (
        f"GET /api/v1/documents/{document_id}/download HTTP/1.1\r\nHost: {HOST}\r\n"
        f"Authorization: Bearer {raw}\r\n\r\n"
    ).encode()


class SlowClients:
    """Connections that each send one request and then read 1 KB a second, or send a byte a second.

    Attributes:
        received: what each connection has received, by its number; only the first 4 KB.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._readers: list[socket.socket] = []
        self._writers: list[socket.socket] = []
        self._idle: list[socket.socket] = []
        self._numbers = itertools.count()
        self.received: list[bytearray] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)

    def __enter__(self) -> "SlowClients":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        for each in (*self._readers, *self._writers, *self._idle):
            each.close()

    def read(self, request: bytes) -> None:
        self._readers.append(self._connect(request))
        self.received.append(bytearray())

    def idle(self) -> None:
        self._idle.append(self._connect(b""))

    def send(self, beginning: bytes) -> None:
        """Sends the beginning of a request, and its rest a byte a second."""
        self._writers.append(self._connect(beginning))

    def _connect(self, data: bytes) -> socket.socket:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.bind((address_of(next(self._numbers)), 0))
        connection.connect((HOST, self._port))
        connection.sendall(data)
        connection.setblocking(False)
        return connection

    def _go(self) -> None:
        tick = 0
        while not self._stop.wait(0.25):
            tick += 1
            for number, reader in enumerate(list(self._readers)):
                with contextlib.suppress(OSError):
                    block = reader.recv(BLOCK)
                    if len(self.received[number]) < 4096:
                        self.received[number] += block
            for writer in list(self._writers) if tick % 4 == 0 else ():
                with contextlib.suppress(OSError):
                    writer.send(b"x")

    def statuses(self) -> list[int]:
        return [int(each[9:12]) for each in self.received if len(each) > 12]
