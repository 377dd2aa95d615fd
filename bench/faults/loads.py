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
from bench.loading import workspaces
from bench.traffic import DETAIL, DOWNLOAD, LIST25, ME, Target, body, target
from config.dev.service import HOST

ENDPOINTS = (ME, LIST25, DETAIL, DOWNLOAD)
STEADY_KEYS = 8  # of each workspace, which the mixed load uses


def learn(port: int) -> dict[str, list[Request]]:
    """The requests of each load, which repeats them, with the right bodies: all is healthy now."""
    acme, umbrella = workspaces(SCALE)
    targets = [target(endpoint, tenant) for tenant in (acme, umbrella) for endpoint in ENDPOINTS]
    with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
        known = [each._replace(body=body(client, each.workspace, each.path)) for each in targets]

    def requests(keys: int, targets: list[Target]) -> list[Request]:
        return [each.request(each.workspace.keys[key]) for key in range(keys) for each in targets]

    return {
        "mixed": requests(STEADY_KEYS, known),
        "reads": requests(SCALE.keys, [each for each in known if each.endpoint != DOWNLOAD]),
        "neighbour": requests(SCALE.keys, known[4:6]),
        "one key": requests(1, known[:3]),
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
