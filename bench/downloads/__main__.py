"""Downloads, measured: `python -m bench.downloads`.

Memory of the server with 1 and 32 downloads of 200 MB, what downloads cost compared with curl
(`bench.downloads.ratios`), and the latency of GET /me with and without 200 slow clients, in process
and served by nginx. Takes a few minutes and 700 MB of disk; starts what it needs below DATA_DIR and
asserts nothing.
"""

import contextlib
import statistics
import time

import httpx

from bench import log, stack
from bench.downloads.fixture import MB, Fixture, server
from bench.downloads.ratios import curl, ratios
from bench.report import spread

ROUNDS = 20
SLOW_CLIENTS = 200
REQUESTS = 200  # of GET /me
PATIENCE = 5  # seconds until a response
SERVED = {False: "in process", True: "by nginx"}


def memory(fixture: Fixture) -> None:
    """RSS of a new worker over idle, during its first downloads."""
    for concurrent in (1, 32):
        with server(by_nginx=False) as (base, worker):
            idle = peak = worker.memory_info().rss
            url, key = base + fixture.documents[200], fixture.keys[0]
            running = [curl(url, key, rate="10M") for _ in range(concurrent)]
            while any(process.poll() is None for process in running):
                peak = max(peak, worker.memory_info().rss)
                time.sleep(0.05)
            log(
                f"memory: {concurrent} downloads of 200 MB: {idle / MB:.0f} MB idle, "
                f"+{(peak - idle) / MB:.0f} MB at most"
            )


def compare(fixture: Fixture, *, by_nginx: bool) -> None:
    """Time to the first byte and throughput, compared with curl from object storage."""
    for concurrent, found in ratios(fixture, 50, ROUNDS, by_nginx=by_nginx).items():
        log(
            f"{concurrent} of 50 MB, {SERVED[by_nginx]}: throughput {spread(found.throughput)} of "
            f"object storage's, first byte {spread(found.first_byte, 1)} times object storage's"
        )


def latency(fixture: Fixture, slow: int, *, by_nginx: bool) -> None:
    """GET /me beside so many slow clients; a process refuses those over its limit."""
    with (
        server(by_nginx=by_nginx) as (base, _),
        httpx.Client(base_url=base, timeout=PATIENCE) as me,
    ):
        url, keys = base + fixture.documents[200], fixture.keys
        clients = [curl(url, keys[n % 10], rate="50k") for n in range(slow)]
        time.sleep(slow / 10)  # until all have begun
        times = []
        for number in range(REQUESTS):
            headers = {"Authorization": f"Bearer {keys[10 + number % 10]}"}
            started = time.monotonic()
            with contextlib.suppress(httpx.TimeoutException):
                me.get("/api/v1/me", headers=headers).raise_for_status()
            times.append((time.monotonic() - started) * 1000)
            if times[-1] > 1000 * PATIENCE:
                break
            time.sleep(0.02)
        for client in clients:
            client.kill()
            client.communicate()
    late = sorted(times)[len(times) * 95 // 100]
    log(
        f"GET /me, {SERVED[by_nginx]}, {slow} slow clients: "
        f"median {statistics.median(times):.1f} ms, 95th percentile {late:.1f} ms"
    )


def main() -> None:
    stack.provide()
    log("creating documents of 50 and 200 MB …")
    with Fixture((50, 200)) as fixture:
        memory(fixture)
        for by_nginx in (False, True):
            compare(fixture, by_nginx=by_nginx)
        for by_nginx in (False, True):
            for slow in (0, SLOW_CLIENTS):
                latency(fixture, slow, by_nginx=by_nginx)


if __name__ == "__main__":
    main()
