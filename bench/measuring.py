"""One measurement: responses, and the processor time that all parts spent on them."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import psutil

from bench import log
from bench.client import Client, Exchange
from bench.scale import Scale
from bench.stack import Stack
from bench.variants import WORKERS, Server

CONNECTIONS = 16
EVEN = 0.6  # of the busier worker's time that the other one spends at least
FEWEST = 3  # responses that a measurement has at least, however long it takes
TRIES = 5  # new connections until the workers share them evenly

TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


def _tree(root: int) -> dict[int, tuple[float, ...]]:
    """Each living process of a tree: user and system time, its own and of children that ended."""
    found = {}
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        try:
            found[each.pid] = tuple(each.cpu_times()[:4])
        except psutil.NoSuchProcess:  # it has just ended
            continue
    return found


def spent(root: int) -> float:
    """Seconds that a process and its descendants have used, including those that have ended."""
    return sum(sum(times) for times in _tree(root).values())


def spent_by_each(root: int) -> dict[int, float]:
    """Seconds that each living process of a tree has used itself."""
    return {pid: sum(times[:2]) for pid, times in _tree(root).items()}


@dataclass(frozen=True)
class Measurement:
    """What `requests` requests in `seconds` took, in seconds of processor time of each part."""

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

    def ms(self, *parts: float) -> float:
        """Milliseconds a request of some parts' processor time."""
        return 1000 * sum(parts) / self.requests

    @property
    def cost_ms(self) -> float:
        """Processor time of server and database together, in milliseconds a request."""
        return self.ms(self.server, self.database)


def _times(stack: Stack, server: Server) -> tuple[float, ...]:
    roots = (server.process.pid, stack.postgres, stack.redis)
    return (time.monotonic(), *(spent(root) for root in roots), time.process_time())


def _share(before: dict[int, float], after: dict[int, float]) -> float:
    """The second busiest process's time as a part of the busiest one's."""
    used = sorted((after[pid] - before.get(pid, 0) for pid in after), reverse=True)[:WORKERS]
    return used[-1] / used[0] if len(used) == WORKERS and used[0] else 0.0


def measure(
    stack: Stack,
    server: Server,
    exchanges: Iterator[Exchange],
    scale: Scale,
    *,
    part: float = 1,
    connections: int = CONNECTIONS,
) -> Measurement:
    """A closed loop; over new connections while the workers are uneven.

    Args:
        part: of the scale's seconds that it lasts.

    Returns:
        Of several tries, the one whose workers shared the work best.
    """
    seconds, tried = scale.seconds * part, []
    for _ in range(TRIES):
        with closing(Client(server.port, exchanges)) as load:
            load.warm_up(connections, seconds / 4)
            workers, before = spent_by_each(server.process.pid), _times(stack, server)
            requests = load.saturate(seconds)
            while requests < FEWEST:
                requests += load.saturate(seconds)
            after = _times(stack, server)
            share = _share(workers, spent_by_each(server.process.pid))
            load.drain()
        took, *parts = (end - start for start, end in zip(before, after, strict=True))
        tried.append((share, Measurement(requests, took, *parts)))
        # Ticks of 10 ms are too coarse for a short time.
        if share >= EVEN or seconds < 1 or connections < CONNECTIONS:
            break
        log(f"  {server.variant.title}: one worker did {share:.2f} of the other's work; repeating")
    return max(tried, key=lambda each: each[0])[1]
