"""How long another request waits while clients download slowly."""

import asyncio
import contextlib
import statistics
import time
from urllib.parse import urlsplit

import httpx

from bench.progress import say
from config.embedded.service import HOST

SLOW = 50_000  # bytes a second that a slow client reads
SLOW_CLIENTS = 200
START_SECONDS = 20  # that all slow clients may take to get their first byte


async def slow_client(base: str, path: str, key: str, started: asyncio.Event) -> None:
    address = urlsplit(base)
    # A small window, so that the kernel does not read ahead for the client.
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=SLOW)
    request = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key}\r\n\r\n"
    writer.write(request.encode())
    with contextlib.suppress(asyncio.CancelledError, OSError):
        while await reader.read(SLOW // 5):
            started.set()
            await asyncio.sleep(0.2)
    writer.close()


async def latency(base: str, keys: list[str], slow: int, path: str) -> None:
    started = [asyncio.Event() for _ in range(slow)]
    clients = [
        asyncio.create_task(slow_client(base, path, keys[n % 10], event))
        for n, event in enumerate(started)
    ]
    # In process only as many start as there are threads.
    everyone = asyncio.gather(*(event.wait() for event in started))
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(everyone, START_SECONDS)
    times = []
    async with httpx.AsyncClient(base_url=base, timeout=5) as client:
        for number in range(200):
            headers = {"Authorization": f"Bearer {keys[10 + number % 10]}"}
            begun = time.monotonic()
            try:
                answer = await client.get("/api/v1/me", headers=headers)
                answer.raise_for_status()
            except httpx.TimeoutException:
                served = sum(event.is_set() for event in started)
                say(f"  no answer within 5 s: {served} of {slow} slow clients hold every thread")
                break
            times.append((time.monotonic() - begun) * 1000)
            await asyncio.sleep(0.02)
        else:
            served = sum(event.is_set() for event in started)
            ranked = sorted(times)
            say(
                f"  {served} slow clients: median {statistics.median(ranked):.1f} ms, "
                f"95th percentile {ranked[189]:.1f} ms"
            )
    for client_task in clients:
        client_task.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
