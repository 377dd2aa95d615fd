"""Downloads, measured: `python -m bench.downloads`.

Memory of the server with 1 and 32 downloads of 200 MB, time to the first byte and throughput as
ratios to curl straight at the store in the same run, and the latency of GET /me with and without
200 slow clients, in process and handed over to nginx. Takes a few minutes and 700 MB of disk;
brings up what it needs below DATA_DIR and asserts nothing.
"""

import asyncio
import contextlib
import io
import os
import secrets
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from bench import stack
from bench.launch import granian, nginx, running
from bench.progress import say
from config.embedded.service import HOST, free_port

MB = 1_000_000
SLOW = 50_000  # bytes a second that a slow client reads
SLOW_CLIENTS = 200
ROUNDS = 5
START_SECONDS = 20  # that all slow clients may take to get their first byte


def provide() -> None:
    """The stack and Django, in this process."""
    stack.provide()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django  # noqa: PLC0415 - the settings read what stands above
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


class Fixture:
    """A workspace with one document for each size in MB, and keys enough for the rate limit."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        import hashlib  # noqa: PLC0415

        from django.contrib.auth.models import User  # noqa: PLC0415

        from apikeys.models import ApiKey  # noqa: PLC0415
        from documents import storage  # noqa: PLC0415
        from documents.models import Document, StoredFile  # noqa: PLC0415
        from workspaces.models import Workspace  # noqa: PLC0415

        self.workspace = Workspace.objects.create(name="Bench", plan="PRO")
        admin = User.objects.create(username=f"bench-{secrets.token_hex(4)}")
        self.keys = [
            ApiKey.objects.issue(workspace=self.workspace, name=f"Bench {n}", by=admin)[1]
            for n in range(20)
        ]
        self.documents, self.urls = {}, {}
        for size in sizes:
            content = secrets.token_bytes(size * MB)
            key = storage.save(io.BytesIO(content))
            stored = StoredFile.objects.create(
                object_key=key, size=len(content), sha256=hashlib.sha256(content).hexdigest()
            )
            document = Document.objects.create(
                workspace=self.workspace,
                title=f"{size} MB",
                file_name=f"{size}.pdf",
                page_count=1,
                file_size=len(content),
                signing_order="PARALLEL",
                original=stored,
            )
            self.documents[size] = f"/api/v1/documents/{document.id}/download"
            self.urls[size] = storage.signed_url(key, 3600)


@contextlib.contextmanager
def server(threads: int, *, handoff: bool) -> Iterator[tuple[str, psutil.Process]]:
    """A server with one worker; through nginx with hand-off. Yields its address and the worker."""
    with contextlib.ExitStack() as started:
        port = free_port()
        environment = {"GRANIAN_BLOCKING_THREADS": str(threads)}
        environment |= {"NGINX_HANDOFF": "yes", "TRUSTED_PROXIES": "1"} if handoff else {}
        command = granian("config.wsgi:application", port, workers=1, threads=threads)
        process = started.enter_context(running(command, port, environment))
        (worker,) = psutil.Process(process.pid).children()
        if handoff:
            folder = Path(started.enter_context(tempfile.TemporaryDirectory()))
            app, port = port, free_port()
            started.enter_context(nginx(folder, port, app))
        yield f"http://{HOST}:{port}", worker


def curl(url: str, at_once: int, key: str = "") -> tuple[float, float]:
    """Downloads a URL so many times at once.

    Returns:
        The median time to the first byte in seconds, and bytes a second of all together.
    """
    headers = ["-H", f"Authorization: Bearer {key}"] if key else []
    written = "%{time_starttransfer} %{size_download} %{http_code}\\n"
    command = ["curl", "-sS", "-o", "/dev/null", "-w", written, *headers, url]
    started = time.monotonic()
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603, S607
        for _ in range(at_once)
    ]
    answers = [process.communicate()[0].split() for process in running]
    took = time.monotonic() - started
    if any(status != "200" for *_, status in answers):
        raise RuntimeError(f"not all answers are 200: {answers}")
    sizes = sum(int(size) for _, size, _ in answers)
    return statistics.median(float(first) for first, *_ in answers), sizes / took


def memory(fixture: Fixture) -> None:
    """RSS of the worker over idle."""
    with server(32, handoff=False) as (base, worker):
        curl(base + fixture.documents[50], 1, fixture.keys[0])
        for at_once in (1, 32):
            idle = worker.memory_info().rss
            command = ["curl", "-s", "-o", "/dev/null", "--limit-rate", "10M"]
            command += ["-H", f"Authorization: Bearer {fixture.keys[0]}"]
            command += [base + fixture.documents[200]]
            running = [subprocess.Popen(command) for _ in range(at_once)]  # noqa: S603
            peak = 0
            while any(process.poll() is None for process in running):
                peak = max(peak, worker.memory_info().rss)
                time.sleep(0.05)
            say(
                f"memory: {at_once} downloads of 200 MB: {idle / MB:.0f} MB idle, "
                f"+{(peak - idle) / MB:.0f} MB at most"
            )


def throughput(fixture: Fixture, *, handoff: bool) -> None:
    """Ratios to curl straight at the store, both measured in turn."""
    how = "handed over" if handoff else "in process"
    with server(16, handoff=handoff) as (base, _):
        for at_once in (1, 16):
            ratios, firsts = [], []
            for number in range(ROUNDS):
                direct_first, direct = curl(fixture.urls[50], at_once)
                first, through = curl(
                    base + fixture.documents[50], at_once, fixture.keys[1 + number]
                )
                ratios.append(through / direct)
                firsts.append(first / direct_first)
            say(
                f"throughput, {how}, {at_once} of 50 MB: {statistics.median(ratios):.2f} of the "
                f"store's own (from {min(ratios):.2f} to {max(ratios):.2f}); "
                f"first byte {statistics.median(firsts):.1f} times the store's"
            )


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


def main() -> None:
    provide()
    say("making documents of 50 and 200 MB …")
    fixture = Fixture((50, 200))
    memory(fixture)
    for handoff in (False, True):
        throughput(fixture, handoff=handoff)
    for handoff in (False, True):
        say(f"GET /me, {'handed over' if handoff else 'in process'}, 4 threads:")
        for slow in (0, SLOW_CLIENTS):
            with server(4, handoff=handoff) as (base, _):
                asyncio.run(latency(base, fixture.keys, slow, fixture.documents[200]))


if __name__ == "__main__":
    main()
