"""One measurement: responses, and the processor time that all parts spent on them."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import uvloop

from bench import log
from bench.client import Client, Outcome, Request, counts
from bench.servers import WORKERS, Server
from bench.stack import Stack
from bench.traffic import Disagreement

CONNECTIONS = 16
EVEN = 0.6  # of the busiest worker's time that the least busy one spends at least
FEWEST = 3  # responses that a measurement has at least, however long it takes
TRIES = 5  # new connections until the workers share them evenly


@dataclass(frozen=True)
class Measurement:
    """What `requests` requests in `seconds` took, in seconds of processor time of each part."""

    requests: int
    seconds: float
    server: float
    database: float
    redis: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    @property
    def server_ms(self) -> float:
        """Milliseconds a request of the server's processor time; of the others likewise."""
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


def _spent(root: int) -> dict[int, float]:
    """Seconds of processor time of each living process of a tree, with its ended children's."""
    found = {}
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            found[each.pid] = sum(each.cpu_times()[:4])
    return found


def _share(before: dict[int, float], after: dict[int, float]) -> float:
    """The least busy worker's time as a part of the busiest one's."""
    used = sorted((after[pid] - before.get(pid, 0) for pid in after), reverse=True)[:WORKERS]
    return used[-1] / used[0] if len(used) == WORKERS and used[0] else 0.0


async def _try(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> tuple[float, Measurement]:
    """One measurement, and how evenly the workers shared the work."""
    services = [each.processes()[0].pid for each in (stack.postgres, stack.redis)]

    def now() -> tuple[list[float], dict[int, float]]:
        parts = [_spent(root) for root in (server.process.pid, *services)]
        return [time.monotonic(), *(sum(part.values()) for part in parts)], parts[0]

    outcomes: list[Outcome] = []
    client = Client(server.port)
    # A warm-up: the connections are opened meanwhile.
    await client.saturate(requests, CONNECTIONS, outcomes.append, seconds / 2)
    (before, workers), already = now(), len(outcomes)
    while len(outcomes) < already + FEWEST:
        await asyncio.sleep(seconds)
    (after, workers_then), done = now(), len(outcomes) - already
    await client.close()
    if not all(outcome.right for outcome in outcomes):
        raise Disagreement(f"{server.title}: {counts(outcomes)}")
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
        stack.prepare()
        share, measured = uvloop.run(_try(stack, server, requests, seconds))
        tried.append((share, measured))
        # Ticks of 10 ms are too coarse for a short time.
        if share >= EVEN or seconds < 1:
            break
        log(f"  {server.title}: one worker did {share:.2f} of another's work; repeating")
    return max(tried, key=lambda each: each[0])[1]
