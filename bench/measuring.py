"""One measurement: responses, and the processor time that all parts spent on them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from statistics import median, quantiles

import psutil
import uvloop

from bench import log
from bench.client import Client, Outcome, Request, counts
from bench.servers import WORKERS, Server
from bench.stack import Stack
from bench.traffic import Disagreement

CONNECTIONS = 16
EVEN = 0.6  # of the busier worker's time that the other one spends at least
FEWEST = 3  # responses that a measurement has at least, however long it takes
FEWEST_AT_RATE = 20  # requests at a fixed rate
TRIES = 5  # new connections until the workers share them evenly


def _spent(root: int) -> dict[int, float]:
    """Seconds of processor time of each living process of a tree, with its ended children's."""
    found = {}
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            found[each.pid] = sum(each.cpu_times()[:4])
    return found


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


def _share(before: dict[int, float], after: dict[int, float]) -> float:
    """The second busiest process's time as a part of the busiest one's."""
    used = sorted((after[pid] - before.get(pid, 0) for pid in after), reverse=True)[:WORKERS]
    return used[-1] / used[0] if len(used) == WORKERS and used[0] else 0.0


@contextlib.asynccontextmanager
async def _loaded(
    server: Server, requests: Iterator[Request], seconds: float
) -> AsyncIterator[tuple[Client, list[Outcome]]]:
    """A closed loop over new connections, opened in so many seconds; all responses are checked."""
    outcomes: list[Outcome] = []
    client = Client(server.port)
    await client.saturate(requests, CONNECTIONS, outcomes.append, seconds)
    yield client, outcomes
    await client.close()
    if not all(outcome.right for outcome in outcomes):
        raise Disagreement(f"{server.title}: {counts(outcomes)}")


async def _try(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> tuple[float, Measurement]:
    """One measurement, and how evenly the workers shared the work."""
    services = [each.processes()[0].pid for each in (stack.postgres, stack.redis)]
    roots = (server.process.pid, *services)

    def now() -> tuple[list[float], dict[int, float]]:
        parts = [_spent(root) for root in roots]
        totals = [sum(part.values()) for part in parts]
        return [time.monotonic(), *totals, time.process_time()], parts[0]

    async with _loaded(server, requests, seconds / 4) as (_, outcomes):
        (before, workers), already = now(), len(outcomes)
        while len(outcomes) < already + FEWEST:
            await asyncio.sleep(seconds)
        (after, workers_then), done = now(), len(outcomes) - already
    measured = Measurement(done, *(b - a for a, b in zip(before, after, strict=True)))
    return _share(workers, workers_then), measured


def measure(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> Measurement:
    """A closed loop; over new connections while the workers are uneven.

    Returns:
        Of several tries, the one whose workers shared the work best.

    Raises:
        Disagreement: not all responses were right.
    """
    tried = []
    for _ in range(TRIES):
        share, measured = uvloop.run(_try(stack, server, requests, seconds))
        tried.append((share, measured))
        # Ticks of 10 ms are too coarse for a short time.
        if share >= EVEN or seconds < 1:
            break
        log(f"  {server.title}: one worker did {share:.2f} of the other's work; repeating")
    return max(tried, key=lambda each: each[0])[1]


def latencies(
    server: Server, requests: Iterator[Request], rate: float, seconds: float
) -> tuple[float, float]:
    """An open loop, over connections that a closed loop has opened.

    Returns:
        The median and the 99th percentile, in seconds.

    Raises:
        Disagreement: not all responses were right.
    """

    async def go() -> list[float]:
        async with _loaded(server, requests, seconds / 2) as (client, outcomes):
            await client.drain()
            warm_up = len(outcomes)
            at_least = max(seconds, FEWEST_AT_RATE / rate)
            await client.at_rate(requests, rate, outcomes.append, at_least)
        return [outcome.seconds for outcome in outcomes[warm_up:]]

    took = uvloop.run(go())
    return median(took), quantiles(took, n=100)[98]
