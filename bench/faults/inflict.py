"""One fault under load: before, during, and after until everything is healthy again."""

import asyncio
import contextlib

from bench import log
from bench.faults.catalogue import Fault
from bench.faults.client import Client, Outcome
from bench.faults.data import KEYS, Data
from bench.faults.load import at_rate
from bench.faults.node import Node
from bench.faults.verdict import Seen, good, seconds_until_healthy

LIMIT = 60.0  # seconds after the end of the fault, healthy or not


async def inflict(fault: Fault, node: Node, data: Data, *, short: bool) -> Seen:
    """Returns what clients saw."""
    requests = {
        "mixed": lambda: data.mixed(),
        "many": lambda: data.mixed(KEYS),
        "neighbour": data.neighbour,
    }[fault.load]()
    before = (1.0 if short else 5.0) if fault.promise.ratio else 2.0
    seconds = min(fault.seconds, 3.0) if short else fault.seconds
    settled = 1.0 if short else 3.0
    node.facts, node.broken = [], []
    outcomes: list[Outcome] = []
    loop = asyncio.get_running_loop()
    client = Client(node.port)
    load = asyncio.create_task(at_rate(client, requests, fault.rate, outcomes.append))
    try:
        await asyncio.sleep(before)
        async with contextlib.AsyncExitStack() as undo:
            began = loop.time()
            during = fault.during(node, data)
            await asyncio.to_thread(during.__enter__)
            undo.push_async_exit(lambda *_: asyncio.to_thread(during.__exit__, None, None, None))
            await asyncio.sleep(seconds)
        ended = loop.time()
        while (now := loop.time()) < ended + LIMIT:
            bad = [o.due + o.seconds for o in outcomes if not good(o)]
            if now > max([ended, *bad]) + settled and client.in_flight <= 1 + fault.rate:
                break
            await asyncio.sleep(0.1)
    finally:
        load.cancel()
    await client.drain()
    client.close()
    healthy = seconds_until_healthy(outcomes, ended)
    log(f"  healthy {healthy:.1f} s after the end of the fault")
    return Seen(
        [o for o in outcomes if o.due < began],
        [o for o in outcomes if began <= o.due < ended],
        [o for o in outcomes if o.due >= ended],
        healthy,
        node.facts,
        node.broken,
    )
