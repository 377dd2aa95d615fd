"""What a download takes: memory of the server, time to the first byte, and throughput."""

import itertools
import statistics
import subprocess
import time

from bench.downloads.fixture import MB, Fixture
from bench.downloads.serving import server
from bench.progress import say

ROUNDS = {1: 20, 16: 7}  # of so many downloads at once


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
    """RSS of a worker over idle: of one that was just started, whose first downloads these are."""
    for at_once in (1, 32):
        with server(32, handoff=False) as (base, worker):
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
    """Ratios to curl straight at the store, both measured in turn, when all threads are at work.

    A thread's first request opens its connections to PostgreSQL, Redis and the store.
    """
    how = "handed over" if handoff else "in process"
    threads = max(ROUNDS)
    keys = itertools.cycle(fixture.keys)  # each has its rate limit
    with server(threads, handoff=handoff) as (base, _):
        for _ in range(3):
            curl(base + fixture.documents[50], threads, next(keys))
        for at_once, rounds in ROUNDS.items():
            ratios, firsts = [], []
            for _ in range(rounds):
                direct_first, direct = curl(fixture.urls[50], at_once)
                first, through = curl(base + fixture.documents[50], at_once, next(keys))
                ratios.append(through / direct)
                firsts.append(first / direct_first)
            say(
                f"throughput, {how}, {at_once} of 50 MB: {statistics.median(ratios):.2f} of the "
                f"store's own (from {min(ratios):.2f} to {max(ratios):.2f}); "
                f"first byte {statistics.median(firsts):.1f} times the store's"
            )
