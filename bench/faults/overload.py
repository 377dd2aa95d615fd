"""What is no fault: overload, one workspace with most of the requests, and a long mixed load."""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from statistics import median

import psutil

from bench import log
from bench.client import Client, Outcome, counts
from bench.faults.node import Node
from bench.faults.verdict import QUICK, ratio
from bench.loading import FAULTS
from bench.servers import pin
from bench.stack import MB, Stack

SECONDS = 12.0  # of each measurement
CONNECTIONS = (4, 16, 64)  # with which the best rate is looked for
MOST = 1000  # of the overload; nginx lets one address have so many
TIMES = 10  # the best rate
GOODPUT = 0.8  # of the best
WAIT = 2.0  # seconds that an accepted request may wait; and QUICK for the service itself
ONE_WORKSPACE = 200  # connections
RATIO = 3.0  # of the neighbour's median
SOAK_RATE = 32.0  # requests a second
WARM_UP = 0.1  # of the time; until then caches, threads and connections are still being made
MORE = 1.1  # times as much at the end as at the beginning is still flat …
FEW = 8  # … and so much more (MB, threads, …)


# The load, what was found, what was promised; and what of it is broken.
Finding = tuple[list[str], list[str]]


def ms(outcomes: Sequence[Outcome]) -> str:
    """The median and the slowest response, in milliseconds."""
    times = [o.seconds for o in outcomes]
    return f"{1000 * median(times):,.0f}/{1000 * max(times):,.0f} ms" if times else "–"


@contextlib.contextmanager
def apart(stack: Stack) -> Iterator[None]:
    """The client has one core and the node the others: otherwise it would take the node's time."""
    cores = sorted(os.sched_getaffinity(0))
    own = psutil.Process()
    for process in (*own.children(recursive=True), *stack.processes()):
        pin(process, cores[:-1] or cores)
    pin(own, cores[-1:])
    try:
        yield
    finally:
        for process in (own, *own.children(recursive=True), *stack.processes()):
            pin(process, cores)


async def overload(node: Node) -> Finding:
    """Finds the best rate, then sends `TIMES` as much."""
    requests = node.data.reads(node.data.acme, node.data.umbrella)
    best = 0.0
    for connections in CONNECTIONS:
        node.stack.reset_rate_limit()
        client, found = Client(node.port), list[Outcome]()
        await client.saturate(requests, connections, found.append)
        await asyncio.sleep(SECONDS / 3)
        await client.close()
        rate = sum(o.status == 200 for o in found) / (SECONDS / 3)
        log(f"  {connections} connections: {rate:.0f} requests a second; {counts(found)}")
        best = max(best, rate)
    node.stack.reset_rate_limit()
    client, found = Client(node.port, most=MOST), list[Outcome]()
    start = time.monotonic()
    await client.at_rate(requests, TIMES * best, found.append, SECONDS)
    took = time.monotonic() - start  # longer if this process cannot send so many
    goodput = sum(o.right for o in found) / took
    await client.close()
    log(f"  {TIMES} times the best rate: {goodput:.0f} a second; {counts(found)}")
    offered = sum(o.problem != "unsent" for o in found) / took
    return overloaded(best, offered, goodput, found)


def overloaded(best: float, offered: float, goodput: float, outcomes: list[Outcome]) -> Finding:
    """What `TIMES` the best rate did; all rates are requests a second."""
    slowest = max((o.seconds for o in outcomes if o.status == 200), default=0.0)
    broken = []
    if goodput < GOODPUT * best:
        broken.append(f"goodput {goodput / best:.0%} of the best")
    refused = [o for o in outcomes if o.status != 200 and o.problem != "unsent"]
    if wrong := [o for o in refused if not (o.status == 503 and o.retry_after)]:
        broken.append(f"not a 503 with Retry-After: {counts(wrong)}")
    if slowest > WAIT + QUICK:
        broken.append(f"an accepted request took {slowest:.1f} s")
    row = [
        f"{TIMES} times the best rate",
        f"best {best:,.0f}/s, then offered {offered:,.0f}/s, served {goodput:,.0f}/s; "
        f"{counts(outcomes)}; slowest that was served {slowest:.1f} s",
        "goodput ≥ 80 % of the best; the others are 503 with Retry-After; nobody waits longer than "
        "2 s and then 1 s for the response",
    ]
    return row, broken


async def crowded(node: Node) -> Finding:
    """One workspace with all of its keys and many connections, beside another."""
    node.stack.reset_rate_limit()
    calm = node.data.neighbour()
    neighbour, crowd = Client(node.port), Client(node.port)
    before, during, sent = list[Outcome](), list[Outcome](), list[Outcome]()
    await neighbour.at_rate(calm, 16, before.append, SECONDS)
    await crowd.saturate(node.data.reads(node.data.acme), ONE_WORKSPACE, sent.append)
    await asyncio.sleep(0.5)
    await neighbour.at_rate(calm, 16, during.append, SECONDS)
    await neighbour.close()
    await crowd.close()
    times, bad = ratio(before, during), counts([o for o in during if not o.right])
    broken = [f"the neighbour saw {bad}"] if bad else []
    broken += [f"median {times:.1f} × undisturbed"] if times > RATIO else []
    row = [
        f"one workspace, {ONE_WORKSPACE} connections",
        f"the other: {counts(during)}; {ms(during)}, median {times:.1f} × undisturbed; "
        f"the crowd: {counts(sent)}; {ms(sent)}",
        f"the other workspace's median ≤ {RATIO:g} × undisturbed",
    ]
    return row, broken


Sample = dict[str, float]  # what a worker has
Samples = list[list[Sample]]  # at the beginning (after the warm-up), in the middle and at the end


def samples(node: Node) -> list[Sample]:
    """One for each instance."""
    with node.stack.administrator() as connection:
        [[connections]] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename <> current_user"
        )
    workers = [instance.worker() for instance in node.instances]
    return [
        {
            "memory, MB": w.memory_info().rss / MB,
            "threads": w.num_threads(),
            "descriptors": w.num_fds(),
            "the node's connections": connections,
        }
        for w in workers
    ]


async def soak(node: Node, minutes: float) -> tuple[Samples, list[Outcome]]:
    """A mixed load for so long."""
    seconds, outcomes = 60 * minutes, list[Outcome]()
    client = Client(node.port)
    requests = node.data.mixed(FAULTS.keys)
    load = asyncio.create_task(client.at_rate(requests, SOAK_RATE, outcomes.append, seconds))
    found = []
    for part in (WARM_UP, (1 - WARM_UP) / 2, (1 - WARM_UP) / 2):
        await asyncio.sleep(part * seconds)
        found.append(await asyncio.to_thread(samples, node))
        log(f"  soak: {found[-1]}")
    await load
    await client.close()
    return found, outcomes


def rising(samples: Samples, outcomes: Sequence[Outcome]) -> list[str]:
    """What rises from the first to the last sample, and responses that are not right."""
    more = {
        name
        for first, last in zip(samples[0], samples[-1], strict=True)
        for name, one in first.items()
        if last[name] > max(one * MORE, one + FEW)
    }
    bad = counts([o for o in outcomes if not o.right])
    return [*(f"{each} rises" for each in sorted(more)), *([bad] if bad else [])]
