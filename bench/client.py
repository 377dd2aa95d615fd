"""A load of requests over kept connections.

One thread on epoll: a request costs it about 30 µs, the rest of a core is left to the servers.
"""

import contextlib
import select
import time
from collections import deque
from collections.abc import Iterator

from bench.connection import Closed, Connection, Exchange


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
            self._idle.append(self._open())
            self.saturate(seconds / connections)

    def _open(self) -> Connection:
        opened = Connection(self._port)
        self._by_number[opened.socket.fileno()] = opened
        self._poll.register(opened.socket, select.EPOLLIN)
        return opened

    def _replace(self, closed: Connection) -> None:
        """Opens a connection instead of one that the server has closed, and asks there again."""
        del self._by_number[closed.socket.fileno()]
        closed.socket.close()
        opened = self._open()
        if closed.exchange is None:
            self._idle.remove(closed)
            self._idle.append(opened)
        else:
            opened.send(closed.exchange, closed.due)

    def _answers(self, timeout: float) -> Iterator[Connection]:
        """Connections that have an answer now, waiting for the first at most so many seconds."""
        # epoll itself waits for whole milliseconds.
        if select.select([self._poll], [], [], max(0.0, timeout))[0]:
            for number, _ in self._poll.poll(0):
                connection = self._by_number[number]
                try:
                    if connection.receive() is not None:
                        yield connection
                except Closed:
                    self._replace(connection)

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
