"""One measurement: responses, and the processor time that all parts spent on them."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple

import psutil
import uvloop

from bench.client import Client, Request, counts
from bench.servers import Server
from bench.stack import Stack
from bench.traffic import Disagreement

CONNECTIONS = 32  # so many that every worker has some for each of its threads
FEWEST = 3  # responses that a measurement has at least, however long it takes


class Measurement(NamedTuple):
    """Milliseconds of processor time a request of each part, and requests a second."""

    server: float
    database: float
    redis: float
    rate: float


def _spent(root: int) -> float:
    """Seconds of processor time of a tree of processes, with those that have ended."""
    total = 0.0
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            total += sum(each.cpu_times()[:4])
    return total


async def _measure(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> Measurement:
    services = (stack.postgres.process.pid, stack.redis.process.pid)

    def now() -> list[float]:
        return [*map(_spent, (server.process.pid, *services)), time.monotonic()]

    client = Client(server.port)
    outcomes = client.outcomes
    # A warm-up: the connections are opened meanwhile.
    await client.saturate(requests, CONNECTIONS, seconds / 2)
    before, already = now(), len(outcomes)
    while len(outcomes) < already + FEWEST:
        await asyncio.sleep(seconds)
    after, done = now(), len(outcomes) - already
    await client.close()
    if not all(outcome.right for outcome in outcomes):
        raise Disagreement(f"{server.title}: {counts(outcomes)}")
    *parts, took = (b - a for a, b in zip(before, after, strict=True))
    return Measurement(*(1000 * part / done for part in parts), done / took)


def measure(
    stack: Stack, server: Server, requests: Iterator[Request], seconds: float
) -> Measurement:
    """A closed loop.

    Raises:
        Disagreement: not all responses were right.
    """
    stack.prepare()
    return uvloop.run(_measure(stack, server, requests, seconds))
