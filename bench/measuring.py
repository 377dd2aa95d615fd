"""One measurement: responses, and the processor time that all parts spent on them."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median, quantiles

import psutil
import uvloop

from bench import log
from bench.client import Client, Outcome, Request, counts
from bench.stack import Stack
from bench.variants import WORKERS, Server

CONNECTIONS = 16
EVEN = 0.6  # of the busier worker's time that the other one spends at least
FEWEST = 3  # responses that a measurement has at least, however long it takes
FEWEST_AT_RATE = 20  # requests at a fixed rate
TRIES = 5  # new connections until the workers share them evenly

TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


class WrongResponse(Exception):
    """A response that is no 200, or has another body than it should."""


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


@dataclass(frozen=True)
class Latency:
    """At so many requests a second: the median and the 99th percentile, in seconds."""

    rate: float
    median: float
    late: float


def _share(before: dict[int, tuple[float, ...]], after: dict[int, tuple[float, ...]]) -> float:
    """The second busiest process's own time as a part of the busiest one's."""
    own = (sum(after[p][:2]) - sum(before.get(p, (0, 0))[:2]) for p in after)
    used = sorted(own, reverse=True)[:WORKERS]
    return used[-1] / used[0] if len(used) == WORKERS and used[0] else 0.0


def _check(outcomes: list[Outcome]) -> None:
    if not all(outcome.right for outcome in outcomes):
        raise WrongResponse(counts(outcomes))


async def _try(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> tuple[float, Measurement]:
    """A closed loop over new connections, and how evenly the workers shared the work."""
    roots = (server.process.pid, stack.postgres.main().pid, stack.redis.main().pid)

    def times() -> list[float]:
        return [time.monotonic(), *(spent(root) for root in roots), time.process_time()]

    outcomes: list[Outcome] = []
    client = Client(server.port)
    await client.saturate(requests, CONNECTIONS, outcomes.append, seconds / 4)
    workers, before, already = _tree(server.process.pid), times(), len(outcomes)
    while len(outcomes) < already + FEWEST:
        await asyncio.sleep(seconds)
    done, after = len(outcomes) - already, times()
    share = _share(workers, _tree(server.process.pid))
    await client.close()
    _check(outcomes)
    return share, Measurement(done, *(b - a for a, b in zip(before, after, strict=True)))


def measure(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> Measurement:
    """A closed loop; over new connections while the workers are uneven.

    Returns:
        Of several tries, the one whose workers shared the work best.

    Raises:
        WrongResponse: not all responses were right.
    """
    tried = []
    for _ in range(TRIES):
        share, measured = uvloop.run(_try(stack, server, requests, seconds))
        tried.append((share, measured))
        # Ticks of 10 ms are too coarse for a short time.
        if share >= EVEN or seconds < 1:
            break
        log(f"  {server.variant.title}: one worker did {share:.2f} of the other's work; repeating")
    return max(tried, key=lambda each: each[0])[1]


def latency(server: Server, requests: Iterator[Request], rate: float, seconds: float) -> Latency:
    """An open loop, over connections that a closed loop has opened.

    Raises:
        WrongResponse: not all responses were right.
    """

    async def go() -> list[Outcome]:
        outcomes: list[Outcome] = []
        client = Client(server.port)
        await client.saturate(requests, CONNECTIONS, lambda _: None, seconds / 2)
        await client.drain()
        at_least = max(seconds, FEWEST_AT_RATE / rate)
        await client.at_rate(requests, rate, outcomes.append, at_least)
        await client.close()
        return outcomes

    outcomes = uvloop.run(go())
    _check(outcomes)
    took = [outcome.seconds for outcome in outcomes]
    return Latency(rate, median(took), quantiles(took, n=100)[98])
