"""The HTTP client of all loads: many requests in flight, each body compared with the right one."""

import asyncio
import hashlib
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, cast

from config.dev.service import HOST

TIMEOUT = 40.0  # seconds until a request is given up
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
REQUEST_ID = re.compile(rb"\r\nrequest-id: *(\w+)", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *\d+", re.IGNORECASE)
JSON = re.compile(rb"\r\ncontent-type: *application/json", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


class Request(NamedTuple):
    """A request as it is sent, and the SHA-256 of the right body in hex digits."""

    endpoint: str
    wire: bytes
    sha256: str


class Outcome(NamedTuple):
    """What became of a request.

    Attributes:
        due: when it was sent, on the monotonic clock.
        seconds: from then to the response's last byte.
        problem: why there is no response, or what is wrong with it; "" if nothing is.
        size: bytes of the body.
        polite: it is JSON and has a Retry-After.
    """

    endpoint: str
    due: float
    seconds: float
    status: int = 0
    problem: str = ""
    request_id: str = ""
    size: int = 0
    polite: bool = False

    @property
    def right(self) -> bool:
        """Whether it is a 200 with the right body."""
        return self.status == 200 and not self.problem


Done = Callable[[Outcome], object]


def counts(outcomes: Sequence[Outcome]) -> str:
    """ "200 × 40, closed × 2": the statuses, and what was no response or a wrong one."""
    found = Counter(o.problem or str(o.status) for o in outcomes)
    return ", ".join(f"{what} × {count:,}" for what, count in sorted(found.items()))


class Connection(asyncio.Protocol):
    """A connection with at most one request in flight."""

    transport: asyncio.Transport

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._done: Done | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def send(self, request: Request, due: float, done: Done) -> None:
        self._request, self._due, self._done = request, due, done
        self._head, self._length, self._size, self._status = b"", -1, 0, 0
        self._sha256 = hashlib.sha256()
        self._timer = asyncio.get_running_loop().call_later(TIMEOUT, self._end, "no response")
        self.transport.write(request.wire)

    def data_received(self, data: bytes) -> None:
        if self._done is None:  # nobody asked
            self.transport.abort()
            return
        if self._length < 0:
            head, end, data = (self._head + data).partition(HEAD_END)
            self._head = head + end
            if not end:
                return
            length = LENGTH.search(head)
            self._length, self._status = int(length[1]) if length else 0, int(head[9:12])
        if self._status == 200:
            self._sha256.update(data)
        self._size += len(data)
        if self._size >= self._length:
            right = self._status != 200 or self._sha256.hexdigest() == self._request.sha256
            self._end("" if right else "wrong body")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("cut off" if self._length >= 0 else "closed") if self._done else None

    def _end(self, problem: str) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        self._timer.cancel()
        if problem or CLOSE.search(self._head):
            self.transport.abort()
        else:
            self._client.idle.append(self)
        self._client.in_flight -= 1
        seconds = time.monotonic() - self._due
        found = REQUEST_ID.search(self._head)
        name = found[1].decode() if found else ""
        polite = bool(RETRY_AFTER.search(self._head) and JSON.search(self._head))
        endpoint, status = self._request.endpoint, self._status
        done(Outcome(endpoint, self._due, seconds, status, problem, name, self._size, polite))


class Client:
    """Persistent connections to one port, one for each request in flight.

    Args:
        most: connections; a request beyond them has the outcome "unsent".
    """

    def __init__(self, port: int, most: int = 4000) -> None:
        self._port, self._most = port, most
        self._opening: set[asyncio.Task[None]] = set()
        self._draining = False
        self.idle: deque[Connection] = deque()
        self.in_flight = 0

    def send(self, request: Request, done: Done) -> None:
        """Sends a request; `done` is called with its outcome."""
        due = time.monotonic()
        if self.in_flight >= self._most:
            done(Outcome(request.endpoint, due, 0, problem="unsent"))
            return
        self.in_flight += 1
        while self.idle:
            connection = self.idle.popleft()
            if not connection.transport.is_closing():
                connection.send(request, due, done)
                return
        task = asyncio.create_task(self._open(request, due, done))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, request: Request, due: float, done: Done) -> None:
        try:
            connecting = asyncio.get_running_loop().create_connection(
                lambda: Connection(self), HOST, self._port
            )
            _, connection = await asyncio.wait_for(connecting, TIMEOUT)
        except OSError as exc:  # a TimeoutError too
            self.in_flight -= 1
            problem = "no connection" if isinstance(exc, TimeoutError) else "refused"
            done(Outcome(request.endpoint, due, time.monotonic() - due, problem=problem))
        else:
            connection.send(request, due, done)

    async def at_rate(
        self, requests: Iterator[Request], rate: float, done: Done, seconds: float = 1e9
    ) -> None:
        """Open loop: so many requests a second, until it is cancelled or all are sent.

        What this process itself is late does not count as the service's latency.
        """
        due = time.monotonic()
        for _ in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic() - 1 / rate) + 1 / rate
            self.send(next(requests), done)

    async def saturate(
        self,
        requests: Iterator[Request],
        connections: int,
        done: Done,
        seconds: float,
        pause: float = 0.0,
    ) -> None:
        """Closed loop: each connection sends its next request after a response, until `close`.

        Args:
            seconds: in which the connections are opened one by one, under load. Opened all
                together, they would all be accepted by whichever worker wakes up first.
            pause: seconds that a connection is idle after a response that is not right.
        """
        loop = asyncio.get_running_loop()

        def again(outcome: Outcome) -> None:
            done(outcome)
            if pause and not outcome.right:
                loop.call_later(pause, send)
            else:
                send()

        def send() -> None:
            if not self._draining:
                self.send(next(requests), again)

        for _ in range(connections):
            send()
            await asyncio.sleep(seconds / connections)

    async def close(self) -> None:
        """Waits for the outcomes of all requests, and closes the connections."""
        self._draining = True
        while self.in_flight:
            await asyncio.sleep(0.01)
        for connection in self.idle:
            connection.transport.abort()
