"""Loads: requests at a fixed rate, or one after the other on each connection."""

import asyncio
from collections.abc import Iterator

from bench.faults.client import Client, Done, Outcome, Request


async def at_rate(
    client: Client, requests: Iterator[Request], rate: float, done: Done, seconds: float = 1e9
) -> None:
    """Open loop: so many requests a second, until it is cancelled or all are sent.

    What this process itself is late does not count as the service's latency.
    """
    loop = asyncio.get_running_loop()
    due = loop.time()
    for _ in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, due - loop.time()))
        due = max(due, loop.time() - 1 / rate)
        client.send(next(requests), due, done)
        due += 1 / rate


async def saturate(
    client: Client, requests: Iterator[Request], connections: int, seconds: float
) -> list[Outcome]:
    """Closed loop: each connection sends its next request as soon as it has a response."""
    loop = asyncio.get_running_loop()
    outcomes: list[Outcome] = []
    end = loop.time() + seconds

    def again(outcome: Outcome) -> None:
        outcomes.append(outcome)
        if loop.time() < end:
            client.send(next(requests), loop.time(), again)

    for _ in range(connections):
        client.send(next(requests), loop.time(), again)
    await asyncio.sleep(seconds)
    await client.drain()
    return outcomes
