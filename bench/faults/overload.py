"""Overload: more requests than a node can serve, and one workspace with most of them."""

import asyncio
import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

import psutil
import redis

from bench import log
from bench.faults.client import Client, Outcome, Request
from bench.faults.data import Data
from bench.faults.load import at_rate, saturate
from bench.faults.node import Node
from bench.faults.services import processes
from bench.faults.verdict import QUICK, counts

CONNECTIONS = (4, 16, 64)  # with which the best rate is looked for
MOST = 1000  # of the overload; nginx lets one address have so many
TIMES = 10  # the best rate
GOODPUT = 0.8  # of the best
WAIT = 2.0  # seconds that an accepted request may wait; and QUICK for the service itself
ONE_WORKSPACE = 200  # connections
RATIO = 3.0  # of the neighbour's median


@dataclass(frozen=True)
class Overload:
    """The best rate, what was offered then, and what was served rightly: requests a second."""

    best: float
    offered: float
    goodput: float
    outcomes: list[Outcome]

    @property
    def slowest(self) -> float:
        """Seconds of the slowest request that was served."""
        return max((o.seconds for o in self.outcomes if o.status == 200), default=0.0)

    def broken(self) -> list[str]:
        """What is not as promised."""
        found = []
        if self.goodput < GOODPUT * self.best:
            found.append(f"goodput {self.goodput / self.best:.0%} of the best")
        if refused := [
            o
            for o in self.outcomes
            if o.status != 200 and o.problem != "unsent" and not (o.status == 503 and o.retry_after)
        ]:
            found.append(f"not a 503 with Retry-After: {counts(refused)}")
        if self.slowest > WAIT + QUICK:
            found.append(f"an accepted request took {self.slowest:.1f} s")
        return found


@dataclass(frozen=True)
class Crowded:
    """The neighbour of a workspace that sends as much as it can."""

    before: list[Outcome]
    during: list[Outcome]
    crowd: list[Outcome]

    @property
    def ratio(self) -> float:
        """The neighbour's median as a multiple of the undisturbed one."""
        one, other = (median(o.seconds for o in each) for each in (self.during, self.before))
        return one / other

    def broken(self) -> list[str]:
        """What is not as promised."""
        bad = [o for o in self.during if o.status != 200 or o.problem]
        found = [f"the neighbour saw {counts(bad)}"] if bad else []
        return found + ([f"median {self.ratio:.1f} × undisturbed"] if self.ratio > RATIO else [])


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """The client has one core and the node the others: otherwise it would take the node's time."""
    cores = sorted(os.sched_getaffinity(0))
    own = psutil.Process()
    node = [*own.children(recursive=True), *processes()]
    if len(cores) > 1:
        _pin(node, cores[:-1])
        _pin([own], cores[-1:])
    try:
        yield
    finally:
        _pin([own, *own.children(recursive=True), *processes()], cores)


def _pin(processes: Iterable[psutil.Process], cores: list[int]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            for thread in process.threads():
                os.sched_setaffinity(thread.id, cores)


def _reset_rate_limit() -> None:
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
        counter.flushdb()


async def overload(node: Node, data: Data, seconds: float) -> Overload:
    """Finds the best rate, then sends `TIMES` as much."""
    requests = data.reads(data.acme, data.umbrella)
    best = 0.0
    for connections in CONNECTIONS:
        _reset_rate_limit()
        client = Client(node.port)
        outcomes = await saturate(client, requests, connections, seconds / 3)
        client.close()
        rate = sum(o.status == 200 for o in outcomes) / (seconds / 3)
        log(f"  {connections} connections: {rate:.0f} requests a second; {counts(outcomes)}")
        best = max(best, rate)
    _reset_rate_limit()
    client, found = Client(node.port, most=MOST), list[Outcome]()
    loop = asyncio.get_running_loop()
    start = loop.time()
    await at_rate(client, requests, TIMES * best, found.append, seconds)
    took = loop.time() - start  # longer if this process cannot send so many
    served = sum(o.status == 200 and not o.problem for o in found)
    await client.drain()
    client.close()
    log(f"  {TIMES} times the best rate: {served / took:.0f} a second; {counts(found)}")
    offered = sum(o.problem != "unsent" for o in found) / took
    return Overload(best, offered, served / took, found)


async def crowded(node: Node, data: Data, seconds: float) -> Crowded:
    """One workspace with all of its keys and many connections, beside another."""

    async def neighbour(found: list[Outcome]) -> None:
        await at_rate(neighbours, calm, 16, found.append, seconds)

    _reset_rate_limit()
    calm: Iterator[Request] = data.neighbour()
    neighbours, client = Client(node.port), Client(node.port)
    before, during = list[Outcome](), list[Outcome]()
    await neighbour(before)
    crowd = asyncio.create_task(saturate(client, data.reads(data.acme), ONE_WORKSPACE, seconds + 1))
    await asyncio.sleep(0.5)
    await neighbour(during)
    await neighbours.drain()
    sent = await crowd
    for each in (neighbours, client):
        each.close()
    log(f"  the crowd: {counts(sent)}")
    return Crowded(before, during, sent)
