"""The loads: their requests, and how they are sent."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence

import httpx
import uvloop

from bench.client import Client, Outcome, Request
from bench.loading import FAULTS as SCALE
from bench.loading import content, identifier, workspaces
from bench.traffic import DETAIL, DOWNLOAD, ENDPOINTS, LIST25, ME, Target, body
from config.dev.service import HOST

STEADY_KEYS = 8  # of each workspace, which the mixed load uses

Loads = dict[str, list[Request]]  # by name; each is repeated


def learn(port: int) -> Loads:
    """Requests everything once, while all is healthy; the files are those that were loaded."""
    tenants = acme, umbrella = workspaces(SCALE)
    reads: dict[int, list[Target]] = {}
    downloads: dict[int, Target] = {}
    with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
        for tenant in tenants:
            second = tenant.first + 1  # the first one of Acme is large
            document = identifier("document", second)
            paths = {"me": ENDPOINTS[ME], "list": ENDPOINTS[LIST25], "detail": ENDPOINTS[DETAIL]}
            for endpoint, path in paths.items():
                path = path.format(document=document)
                target = Target(endpoint, tenant, path, body(client, tenant, path))
                reads.setdefault(tenant.number, []).append(target)
            path = DOWNLOAD.format(document=document)
            downloads[tenant.number] = Target("download", tenant, path, content(SCALE, second))

    def alternating(keys: int, *, files: bool) -> list[Request]:
        return [
            each.request(tenant.keys[key])
            for key in range(keys)
            for tenant in tenants
            for each in (*reads[tenant.number], *[downloads[tenant.number]] * files)
        ]

    mixed = alternating(STEADY_KEYS, files=True)
    large = DOWNLOAD.format(document=identifier("document", acme.first))
    mixed[3] = Target("download", acme, large, content(SCALE, acme.first)).request(acme.keys[0])
    me, documents, _ = reads[umbrella.number]
    return {
        "mixed": mixed,
        "reads": alternating(SCALE.keys, files=False),
        "neighbour": [each.request(key) for key in umbrella.keys for each in (me, documents)],
        "one key": [each.request(acme.keys[0]) for each in reads[acme.number]],
    }


@contextlib.contextmanager
def steady(port: int, requests: Sequence[Request], rate: float) -> Iterator[list[Outcome]]:
    """An open loop of so many requests a second meanwhile; complete at the end."""
    client, stop = Client(port), threading.Event()

    async def go() -> None:
        load = asyncio.create_task(client.at_rate(itertools.cycle(requests), rate, 1e6))
        while not stop.is_set():
            await asyncio.sleep(0.05)
        load.cancel()
        await client.close()

    thread = threading.Thread(target=lambda: uvloop.run(go()))
    thread.start()
    try:
        yield client.outcomes
    finally:
        stop.set()
        thread.join()


def send(
    port: int, load: Sequence[Request], seconds: float, rate: float = 0, *closed: float
) -> tuple[list[Outcome], float]:
    """An open loop of so many requests a second; or without a rate a closed one.

    Args:
        closed: the number of connections, and the pause of each after a refusal.

    Returns:
        The outcomes, and in how many seconds the requests were sent.
    """

    async def go() -> float:
        requests, start = itertools.cycle(load), time.monotonic()
        if rate:
            await client.at_rate(requests, rate, seconds)
        else:
            connections, *pause = closed
            await client.saturate(requests, int(connections), seconds / 10, *pause)
            await asyncio.sleep(seconds * 0.9)
        took = time.monotonic() - start
        await client.close()
        return took

    client = Client(port)
    return client.outcomes, uvloop.run(go())
