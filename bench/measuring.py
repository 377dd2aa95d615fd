"""One measurement: requests answered, and the processor time that all parts spent on them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.client import client
from bench.connection import Exchange
from bench.processor import spent, spent_by_each
from bench.progress import say
from bench.stack import Stack
from bench.variants import WORKERS, Server

CONNECTIONS = 16
EVEN = 0.6  # of the busier worker's time that the other one spends at least
FEWEST = 3  # requests that a measurement has at least, however long it takes
TRIES = 5  # new connections until the workers share them evenly


@dataclass(frozen=True)
class Measurement:
    """What `requests` answers in `seconds` took, in seconds of processor time of each part."""

    requests: int
    seconds: float
    server: float
    database: float
    redis: float
    client: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def server_ms(self) -> float:
        """Milliseconds of processor time a request, of the server's processes."""
        return 1000 * self.server / self.requests

    @property
    def database_ms(self) -> float:
        return 1000 * self.database / self.requests

    @property
    def redis_ms(self) -> float:
        return 1000 * self.redis / self.requests

    @property
    def cost_ms(self) -> float:
        """Of server and database together."""
        return self.server_ms + self.database_ms


class Meter:
    """Reads the processor time of a server, the database and Redis."""

    def __init__(self, stack: Stack, server: Server) -> None:
        self.stack, self.server = stack, server

    def read(self) -> tuple[float, ...]:
        roots = (self.server.root, self.stack.postgres, self.stack.redis)
        return (time.monotonic(), *(spent(root) for root in roots), time.process_time())


def _share(before: dict[int, float], after: dict[int, float]) -> float:
    """The second busiest process's time as a part of the busiest one's."""
    used = sorted((after[pid] - before.get(pid, 0) for pid in after), reverse=True)[:WORKERS]
    return used[-1] / used[0] if len(used) == WORKERS and used[0] else 0.0


def prepare(stack: Stack, database: str) -> None:
    """Makes every measurement begin alike: no request counted, each key's last use long ago."""
    stack.forget_requests()
    with stack.connect(database) as connection:
        connection.execute("UPDATE apikeys_apikey SET last_used_at = now() - interval '1 hour'")


def measure(
    stack: Stack,
    server: Server,
    exchanges: Iterator[Exchange],
    *,
    warm_up: float,
    seconds: float,
    connections: int = CONNECTIONS,
) -> Measurement:
    """A closed loop of so many seconds; over new connections while the workers are uneven.

    Of several tries, the one whose workers shared the work best counts.
    """
    meter, tried = Meter(stack, server), []
    for _ in range(TRIES):
        with client(server.port, exchanges) as load:
            load.warm_up(connections, warm_up)
            workers, begun = spent_by_each(server.root), meter.read()
            requests = load.saturate(seconds)
            while requests < FEWEST:
                requests += load.saturate(seconds)
            ended = meter.read()
            share = _share(workers, spent_by_each(server.root))
            load.drain()
        took, *parts = (after - before for before, after in zip(begun, ended, strict=True))
        tried.append((share, Measurement(requests, took, *parts)))
        # Ticks of 10 ms tell little about a short time.
        if share >= EVEN or seconds < 1 or connections < CONNECTIONS:
            break
        say(f"  {server.variant.title}: one worker did {share:.2f} of the other's work; again")
    return max(tried, key=lambda each: each[0])[1]
