"""Downloads, measured: `python -m bench.downloads`.

Memory of the server with 1 and 32 downloads of 200 MB, time to the first byte and throughput as
ratios to curl from object storage in the same run, and the latency of GET /me with and without
200 slow clients, in process and served by nginx. Takes a few minutes and 700 MB of disk; starts
what it needs below DATA_DIR and asserts nothing.
"""

import contextlib
import itertools
import statistics
import subprocess
import time

import httpx

from bench import log
from bench.downloads.fixture import MB, Fixture, server

ROUNDS = {1: 20, 16: 7}  # by the number of concurrent downloads
SLOW_CLIENTS = 200
REQUESTS = 200  # of GET /me
PATIENCE = 5  # seconds until a response
WRITTEN = "%{time_starttransfer} %{size_download} %{http_code}\\n"
SERVED = {False: "in process", True: "by nginx"}


def curl(url: str, key: str = "", rate: str = "10G") -> "subprocess.Popen[str]":
    """A download that is running, at most with so many bytes a second."""
    command = ["curl", "-sS", "-o", "/dev/null", "-w", WRITTEN, "--limit-rate", rate, url]
    command += ["-H", f"Authorization: Bearer {key}"] if key else []
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603


def download(url: str, concurrent: int, key: str = "") -> tuple[float, float]:
    """Downloads a URL so many times concurrently.

    Returns:
        The median time to the first byte in seconds, and bytes a second of all together.
    """
    started = time.monotonic()
    running = [curl(url, key) for _ in range(concurrent)]
    responses = [process.communicate()[0].split() for process in running]
    took = time.monotonic() - started
    if any(status != "200" for *_, status in responses):
        raise RuntimeError(f"not all responses are 200: {responses}")
    sizes = sum(int(size) for _, size, _ in responses)
    return statistics.median(float(first) for first, *_ in responses), sizes / took


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


def throughput(fixture: Fixture, *, by_nginx: bool) -> None:
    """Ratios to curl from object storage, both measured in turn, once connections are open."""
    keys = itertools.cycle(fixture.keys)  # each has its rate limit
    with server(by_nginx=by_nginx) as (base, _):
        url = base + fixture.documents[50]
        for _ in range(3):
            download(url, max(ROUNDS), next(keys))
        for concurrent, rounds in ROUNDS.items():
            ratios, firsts = [], []
            for _ in range(rounds):
                direct_first, direct = download(fixture.urls[50], concurrent)
                first, through = download(url, concurrent, next(keys))
                ratios.append(through / direct)
                firsts.append(first / direct_first)
            log(
                f"throughput, {SERVED[by_nginx]}, {concurrent} of 50 MB: "
                f"{statistics.median(ratios):.2f} of object storage's "
                f"({min(ratios):.2f} to {max(ratios):.2f}); "
                f"first byte {statistics.median(firsts):.1f} times object storage's"
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
    log("creating documents of 50 and 200 MB …")
    fixture = Fixture((50, 200))
    memory(fixture)
    for by_nginx in (False, True):
        throughput(fixture, by_nginx=by_nginx)
    for by_nginx in (False, True):
        for slow in (0, SLOW_CLIENTS):
            latency(fixture, slow, by_nginx=by_nginx)


if __name__ == "__main__":
    main()
