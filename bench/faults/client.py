"""An HTTP client whose requests are sent when they are due, whether or not responses have come."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from config.embedded.service import HOST

TIMEOUT = 40.0  # seconds until a request is given up
HEAD_END = b"\r\n\r\n"
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
REQUEST_ID = re.compile(rb"\r\nrequest-id: *(\w+)", re.IGNORECASE)
RETRY_AFTER = re.compile(rb"\r\nretry-after: *\d+", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it is sent, and the SHA-256 of the right body in hex digits."""

    endpoint: str
    wire: bytes
    sha256: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request.

    Attributes:
        due: when it was to be sent, on the loop's clock.
        seconds: from then to the response's last byte.
        problem: why there is no response, or what is wrong with it; "" if nothing is.
        size: bytes of the body.
    """

    endpoint: str
    due: float
    seconds: float
    status: int = 0
    problem: str = ""
    request_id: str = ""
    size: int = 0
    retry_after: bool = False


Done = Callable[[Outcome], object]


class Connection(asyncio.Protocol):
    """A connection with at most one request in flight."""

    transport: asyncio.Transport

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._done: Done | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's own class

    def send(self, request: Request, due: float, done: Done) -> None:
        self._request, self._due, self._done = request, due, done
        self._head, self._length, self._size = b"", -1, 0
        self._sha256 = hashlib.sha256()
        self._timer = self._loop.call_later(TIMEOUT, self._end, "no response")
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
            self._length = int(length[1]) if length else 0
        if self._status == 200:
            self._sha256.update(data)
        self._size += len(data)
        if self._size >= self._length:
            right = self._status != 200 or self._sha256.hexdigest() == self._request.sha256
            self._end("" if right else "wrong body")

    @property
    def _status(self) -> int:
        return int(self._head[9:12]) if self._length >= 0 else 0

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
        found = REQUEST_ID.search(self._head)
        done(
            Outcome(
                self._request.endpoint,
                self._due,
                self._loop.time() - self._due,
                self._status,
                problem,
                found[1].decode() if found else "",
                self._size,
                bool(RETRY_AFTER.search(self._head)),
            )
        )


class Client:
    """Persistent connections to one port, one for each request in flight.

    Args:
        most: connections; a request beyond them has the outcome "unsent".
    """

    def __init__(self, port: int, most: int = 4000) -> None:
        self._port, self._most = port, most
        self._opening: set[asyncio.Task[None]] = set()
        self.idle: list[Connection] = []
        self.in_flight = 0

    def send(self, request: Request, due: float, done: Done) -> None:
        """Sends a request; `done` is called with its outcome."""
        while self.idle and self.idle[-1].transport.is_closing():
            self.idle.pop()
        if self.in_flight >= self._most:
            done(Outcome(request.endpoint, due, 0, problem="unsent"))
            return
        self.in_flight += 1
        if self.idle:
            self.idle.pop().send(request, due, done)
            return
        task = asyncio.create_task(self._open(request, due, done))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, request: Request, due: float, done: Done) -> None:
        loop = asyncio.get_running_loop()
        try:
            connecting = loop.create_connection(lambda: Connection(self), HOST, self._port)
            _, connection = await asyncio.wait_for(connecting, TIMEOUT)
        except OSError as exc:  # a TimeoutError too
            self.in_flight -= 1
            problem = "no connection" if isinstance(exc, TimeoutError) else "refused"
            done(Outcome(request.endpoint, due, loop.time() - due, problem=problem))
        else:
            connection.send(request, due, done)

    async def drain(self) -> None:
        """Waits for the outcomes of all requests."""
        while self.in_flight:
            await asyncio.sleep(0.05)

    def close(self) -> None:
        for connection in self.idle:
            connection.transport.abort()
