"""The HTTP client of all loads: many requests in flight, each body compared with the right one."""

import asyncio
import hashlib
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from config.dev.services import HOST
from tests.support.proxy import address_of

TIMEOUT = 40.0  # seconds until a request is given up
BLOCK = 256 * 1024  # bytes that are read at a time
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
    endpoint: str
    due: float  # when it was sent, on the monotonic clock
    seconds: float  # from then to the response's last byte
    status: int
    problem: str  # why there is no response, or what is wrong with it; "" if nothing is
    request_id: str
    polite: bool  # the response is JSON and has a Retry-After

    @property
    def right(self) -> bool:
        return self.status == 200 and not self.problem


def counts(outcomes: Sequence[Outcome]) -> str:
    """ "200 × 40, closed × 2": the statuses, and what was no response or a wrong one."""
    found = Counter(o.problem or str(o.status) for o in outcomes)
    return ", ".join(f"{what} × {count:,}" for what, count in sorted(found.items()))


class Client:
    """Persistent connections to one port, one for each request in flight; their outcomes.

    Each has an address of its own, as consumers have. `options` are those of a connection.
    """

    def __init__(
        self,
        port: int,
        host: str = HOST,
        address_of: Callable[[int], str] = address_of,
        **options: Any,
    ) -> None:
        self._connect = partial(asyncio.open_connection, host, port, **options)
        self._addresses = map(address_of, itertools.count())
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.outcomes: list[Outcome] = []

    async def send(self, request: Request) -> None:
        due, status, size, problem, head = time.monotonic(), 0, 0, "", b""
        writer = None
        try:
            async with asyncio.timeout(TIMEOUT):
                while self._idle and self._idle[-1][0].at_eof():
                    self._idle.pop()[1].transport.abort()
                idle = self._idle.pop() if self._idle else None
                address = (next(self._addresses), 0)
                reader, writer = idle or await self._connect(local_addr=address)
                writer.write(request.wire)
                head = await reader.readuntil(b"\r\n\r\n")
                status, length = int(head[9:12]), LENGTH.search(head)
                sha256, left = hashlib.sha256(), int(length[1]) if length else 0
                while left > size and (block := await reader.read(min(BLOCK, left - size))):
                    sha256.update(block)
                    size += len(block)
            if size < left:
                problem = "cut off"
            elif status == 200 and sha256.hexdigest() != request.sha256:
                problem = "wrong body"
        except TimeoutError:
            problem = "no response"
        except (OSError, asyncio.IncompleteReadError):
            problem = "closed" if writer else "refused"
        if writer and (problem or CLOSE.search(head)):
            writer.transport.abort()
        elif writer:
            self._idle.append((reader, writer))
        found = REQUEST_ID.search(head)
        name = found[1].decode() if found else ""
        polite = bool(RETRY_AFTER.search(head) and JSON.search(head))
        seconds = time.monotonic() - due
        self.outcomes.append(Outcome(request.endpoint, due, seconds, status, problem, name, polite))

    def _run(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def at_rate(self, requests: Iterator[Request], rate: float, seconds: float) -> None:
        """Open loop: so many requests a second; what this process itself is late does not count."""
        end = (due := time.monotonic()) + seconds
        while due < end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due, time.monotonic() - 1 / rate) + 1 / rate
            self._run(asyncio.create_task(self.send(next(requests))))

    async def saturate(
        self, requests: Iterator[Request], connections: int, seconds: float, pause: float = 0.0
    ) -> None:
        """Closed loop until `close`; each connection may pause after a response that is not right.

        They are opened in so many seconds: else all would be accepted by one quick worker.
        """

        async def repeat() -> None:
            while not self._closing:
                await self.send(next(requests))
                if pause and not self.outcomes[-1].right:
                    await asyncio.sleep(pause)

        for _ in range(connections):
            self._run(asyncio.create_task(repeat()))
            await asyncio.sleep(seconds / connections)

    async def close(self) -> None:
        self._closing = True
        while self._tasks:
            await asyncio.sleep(0.01)
        for _, writer in self._idle:
            writer.transport.abort()
