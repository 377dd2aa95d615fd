"""A long mixed load: whether an instance needs more of anything in the end."""

import asyncio
from dataclasses import astuple, dataclass, fields

import psutil

from bench import log
from bench.faults.client import Client, Outcome
from bench.faults.data import KEYS, Data
from bench.faults.load import at_rate
from bench.faults.node import Node
from bench.faults.services import administrator
from bench.stack import MB

RATE = 32.0  # requests a second
WARM_UP = 0.1  # of the time; until then caches, threads and connections are still being made
MORE = 1.1  # times as much at the end as at the beginning is still flat …
FEW = 8  # … and so much more (MB, threads, …)


@dataclass(frozen=True)
class Sample:
    """What a worker has."""

    memory: float  # MB, resident
    threads: int
    descriptors: int
    connections: int  # to the database, all of the node's

    def rises(self, later: "Sample") -> list[str]:
        """What a later sample has more of."""
        pairs = zip(fields(self), astuple(self), astuple(later), strict=True)
        return [field.name for field, one, other in pairs if other > max(one * MORE, one + FEW)]


def sample(node: Node) -> list[Sample]:
    """One for each instance."""
    with administrator() as connection:
        [[connections]] = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename <> current_user"
        )
    found = []
    for instance in node.instances:
        worker = instance.worker()
        assert isinstance(worker, psutil.Process)  # noqa: S101 - it serves
        memory = worker.memory_info().rss / MB
        found.append(Sample(memory, worker.num_threads(), worker.num_fds(), connections))
    return found


async def soak(node: Node, data: Data, minutes: float) -> tuple[list[list[Sample]], list[Outcome]]:
    """Samples at the beginning (after the warm-up), in the middle and at the end, and outcomes."""
    seconds, outcomes = 60 * minutes, list[Outcome]()
    client = Client(node.port)
    requests = data.mixed(KEYS)
    load = asyncio.create_task(at_rate(client, requests, RATE, outcomes.append, seconds))
    samples = []
    for part in (WARM_UP, (1 - WARM_UP) / 2, (1 - WARM_UP) / 2):
        await asyncio.sleep(part * seconds)
        samples.append(await asyncio.to_thread(sample, node))
        log(f"  soak: {samples[-1]}")
    await load
    await client.drain()
    client.close()
    return samples, outcomes
