"""A load of requests over kept connections, each answer compared with the one that is right.

One thread on epoll: a request costs it about 30 µs, of which it leaves the servers the rest.
"""

import contextlib
import re
import select
import socket
import time
from collections import deque
from collections.abc import Iterator
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


class Connection:
    """One connection with at most one request on its way.

    Attributes:
        due: when the present request was to be sent.
    """

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self._received: list[bytes] = []
        self._missing = 0

    def send(self, exchange: Exchange, due: float) -> None:
        self.exchange, self.due = exchange, due
        self.socket.sendall(exchange.request)

    def receive(self) -> bytes | None:
        """The body once it is whole, None until then.

        Raises:
            WrongAnswer: the status is not 200, the body another one, or the connection closed.
        """
        block = self.socket.recv(BLOCK)
        if not block:
            raise WrongAnswer("the connection was closed")
        if not self._received:
            block = self._begin(block)
        self._received.append(block)
        self._missing -= len(block)
        if self._missing:
            return None
        body = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received = []
        if self.exchange.body is not None and body != self.exchange.body:
            raise WrongAnswer(f"{self.exchange.request!r}: {body[:300]!r}")
        return body

    def _begin(self, block: bytes) -> bytes:
        while HEAD_END not in block:
            block += self.socket.recv(BLOCK)
        head, _, rest = block.partition(HEAD_END)
        length = LENGTH.search(head)
        if not head.startswith(b"HTTP/1.1 200 ") or length is None:
            raise WrongAnswer(f"{self.exchange.request!r}: {block[:300]!r}")
        self._missing = int(length[1])
        return rest


class Client:
    """Connections to one server that send exchanges one after another.

    Args:
        exchanges: endless.
    """

    def __init__(self, port: int, exchanges: Iterator[Exchange]) -> None:
        self._port, self._exchanges = port, exchanges
        self._by_number: dict[int, Connection] = {}
        self._idle: deque[Connection] = deque()
        self._poll = select.epoll()

    def close(self) -> None:
        self._poll.close()
        for connection in self._by_number.values():
            connection.socket.close()

    def warm_up(self, connections: int, seconds: float) -> None:
        """Opens connections one by one, under load.

        Opened all at once, they would all be accepted by whichever worker wakes up first.
        """
        for _ in range(connections):
            opened = Connection(self._port)
            self._by_number[opened.socket.fileno()] = opened
            self._poll.register(opened.socket, select.EPOLLIN)
            self._idle.append(opened)
            self.saturate(seconds / connections)

    def _answers(self, timeout: float) -> Iterator[Connection]:
        """Connections that have an answer now, waiting for the first at most so many seconds."""
        # epoll itself waits for whole milliseconds.
        if select.select([self._poll], [], [], max(0.0, timeout))[0]:
            for number, _ in self._poll.poll(0):
                connection = self._by_number[number]
                if connection.receive() is not None:
                    yield connection

    def saturate(self, seconds: float) -> int:
        """Closed loop: every connection sends its next request as soon as it has an answer.

        Returns:
            How many were answered; what is on its way at the end is the next call's.
        """
        answered, now = 0, time.monotonic()
        end = now + seconds
        while self._idle:
            self._idle.popleft().send(next(self._exchanges), now)
        while now < end:
            for connection in self._answers(end - now):
                answered += 1
                connection.send(next(self._exchanges), now)
            now = time.monotonic()
        return answered

    def drain(self) -> None:
        """Waits for what is on its way."""
        while len(self._idle) < len(self._by_number):
            self._idle.extend(self._answers(1.0))

    def at_rate(self, rate: float, seconds: float) -> list[float]:
        """Open loop: requests are due at a fixed rate, whether or not answers have come.

        Returns:
            Seconds from when each request was due until its answer, waiting included.
        """
        took: list[float] = []
        self.drain()
        started = now = time.monotonic()
        total, sent = int(rate * seconds), 0
        while len(took) < total:
            while self._idle and sent < total and started + sent / rate <= now:
                self._idle.popleft().send(next(self._exchanges), started + sent / rate)
                sent += 1
            next_due = started + sent / rate - now if self._idle and sent < total else 1.0
            for connection in self._answers(next_due):
                took.append(time.monotonic() - connection.due)
                self._idle.append(connection)
            now = time.monotonic()
        return took


@contextlib.contextmanager
def client(port: int, exchanges: Iterator[Exchange]) -> Iterator[Client]:
    opened = Client(port, exchanges)
    try:
        yield opened
    finally:
        opened.close()
