"""One kept connection to a server: a request at a time, its answer compared with the right one."""

import contextlib
import re
import socket
from dataclasses import dataclass

from config.embedded.service import HOST

BLOCK = 1 << 18  # bytes read at a time
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class WrongAnswer(Exception):
    """An answer that is no 200, or has another body than it should."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it is sent, and the body that answers it; None when it is not known."""

    request: bytes
    body: bytes | None


class Closed(Exception):
    """The server has closed a connection between two answers, as it may."""


class Connection:
    """One connection with at most one request on its way.

    Attributes:
        exchange: the request that is on its way, if one is.
        due: when it was to be sent.
    """

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.exchange: Exchange | None = None
        self.due = 0.0
        self._received: list[bytes] = []
        self._missing = 0

    def send(self, exchange: Exchange, due: float) -> None:
        self.exchange, self.due = exchange, due
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # found when it is read
            self.socket.sendall(exchange.request)

    def receive(self) -> bytes | None:
        """The body once it is whole, None until then.

        Raises:
            WrongAnswer: the status is not 200, the body another one, or broken off.
            Closed: no answer has begun, and none will.
        """
        try:
            block = self.socket.recv(BLOCK)
        except ConnectionResetError:
            block = b""
        if not block and not self._received:
            raise Closed
        if not block or self.exchange is None:
            raise WrongAnswer(f"{self.exchange}: {block[:300]!r} after {self._received[:1]!r}")
        if not self._received:
            block = self._begin(block)
        self._received.append(block)
        self._missing -= len(block)
        if self._missing:
            return None
        body = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        if self.exchange.body is not None and body != self.exchange.body:
            raise WrongAnswer(f"{self.exchange.request!r}: {body[:300]!r}")
        self._received, self.exchange = [], None
        return body

    def _begin(self, block: bytes) -> bytes:
        while HEAD_END not in block:
            more = self.socket.recv(BLOCK)
            if not more:
                raise WrongAnswer(f"{self.exchange}: {block[:300]!r}, and then nothing")
            block += more
        head, _, rest = block.partition(HEAD_END)
        length = LENGTH.search(head)
        if not head.startswith(b"HTTP/1.1 200 ") or length is None:
            raise WrongAnswer(f"{self.exchange}: {block[:300]!r}")
        self._missing = int(length[1])
        return rest
