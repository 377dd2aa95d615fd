"""A load of requests over persistent connections, each response compared with the right one.

One thread on epoll: a request costs it about 30 µs, the rest of a core is left to the servers.
"""

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
RIGHT_HEAD = re.compile(rb"HTTP/1.1 200 .*\r\ncontent-length: *(\d+)", re.IGNORECASE | re.DOTALL)


class WrongResponse(Exception):
    """A response that is no 200, or has another body than it should."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as it is sent, and the body of its response; None when it is not known."""

    request: bytes
    body: bytes | None


class Connection:
    """One connection with at most one request in flight."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.exchange: Exchange | None = None  # in flight
        self.due = 0.0  # when its request was to be sent
        self._received = b""

    def send(self, exchange: Exchange, due: float) -> None:
        self.exchange, self.due = exchange, due
        self.socket.sendall(exchange.request)

    def receive(self) -> bytes | None:
        """The body once it is complete, None until then.

        Raises:
            WrongResponse: the status is not 200, the body another one, or incomplete.
        """
        block = self.socket.recv(BLOCK)
        self._received += block
        head, end, body = self._received.partition(HEAD_END)
        found = RIGHT_HEAD.match(head)
        missing = int(found[1]) - len(body) if found else 0
        if block and (not end or missing > 0):
            return None
        exchange = self.exchange
        if not found or missing or not exchange or exchange.body not in (None, body):
            raise WrongResponse(f"{exchange and exchange.request!r}: {self._received[:1000]!r}")
        self._received, self.exchange = b"", None
        return body


class Client:
    """Connections to one server that send endless exchanges, one after another."""

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

        Opened all together, they would all be accepted by whichever worker wakes up first.
        """
        for _ in range(connections):
            opened = Connection(self._port)
            self._by_number[opened.socket.fileno()] = opened
            self._poll.register(opened.socket, select.EPOLLIN)
            self._idle.append(opened)
            self.saturate(seconds / connections)

    def _completed(self, timeout: float) -> Iterator[Connection]:
        """Connections whose response is complete; waits at most so many seconds for the first."""
        # epoll itself waits for whole milliseconds.
        if select.select([self._poll], [], [], max(0.0, timeout))[0]:
            for number, _ in self._poll.poll(0):
                if self._by_number[number].receive() is not None:
                    yield self._by_number[number]

    def saturate(self, seconds: float) -> int:
        """Closed loop: every connection sends its next request as soon as it has a response.

        Returns:
            The number of responses; a request in flight at the end counts in the next call.
        """
        responses, now = 0, time.monotonic()
        end = now + seconds
        while self._idle:
            self._idle.popleft().send(next(self._exchanges), now)
        while now < end:
            for connection in self._completed(end - now):
                responses += 1
                connection.send(next(self._exchanges), now)
            now = time.monotonic()
        return responses

    def drain(self) -> None:
        """Waits for the responses to the requests in flight."""
        while len(self._idle) < len(self._by_number):
            self._idle.extend(self._completed(1.0))

    def at_rate(self, rate: float, seconds: float) -> list[float]:
        """Open loop: requests are due at a fixed rate, whether or not responses have come.

        Returns:
            Seconds from when each request was due until its response, waiting included.
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
            for connection in self._completed(next_due):
                took.append(time.monotonic() - connection.due)
                self._idle.append(connection)
            now = time.monotonic()
        return took
