"""What a download costs compared with curl from object storage: first byte and throughput."""

import itertools
import statistics
import subprocess
import time
from typing import NamedTuple

from bench import report
from bench.downloads.fixture import Fixture, server
from bench.scale import Scale

SIZE = 1  # MB of the file, about as much as a PDF has
CONCURRENT = (1, 16)
FIRST_BYTE = 15.0  # the most: of one download, as a multiple of curl's
THROUGHPUT = 0.5  # the least: of 16 downloads at once, as a part of curl's
WRITTEN = "%{time_starttransfer} %{size_download} %{http_code}\\n"


class Ratios(NamedTuple):
    """Of each round, what was measured here divided by what curl from object storage has."""

    first_byte: list[float]  # the time until it
    throughput: list[float]  # bytes a second


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


def ratios(fixture: Fixture, size: int, rounds: int, *, by_nginx: bool) -> dict[int, Ratios]:
    """By the number of concurrent downloads of the file of so many MB, once connections are open.

    Both are measured in turn. Of several downloads there are a third of the rounds.
    """
    keys = itertools.cycle(fixture.keys)  # each has its rate limit
    found = {concurrent: Ratios([], []) for concurrent in CONCURRENT}
    with server(by_nginx=by_nginx) as (base, _):
        url = base + fixture.documents[size]
        for _ in range(3):
            download(url, max(CONCURRENT), next(keys))
        for concurrent, measured in found.items():
            for _ in range(rounds if concurrent == 1 else -(-rounds // 3)):
                direct_first, direct = download(fixture.urls[size], concurrent)
                first, through = download(url, concurrent, next(keys))
                measured.first_byte.append(first / direct_first)
                measured.throughput.append(through / direct)
    return found


def measure(scale: Scale) -> dict[int, Ratios]:
    """Downloads that the application sends itself. The other services must run."""
    with Fixture((SIZE,)) as fixture:
        return ratios(fixture, SIZE, 4 * scale.rounds, by_nginx=False)


def table(found: dict[int, Ratios]) -> list[str]:
    """The targets and what was measured, as Markdown."""
    one, *_, many = found
    first = statistics.median(found[one].first_byte)
    through = statistics.median(found[many].throughput)
    verdicts = [
        report.at_most("first byte of one download, times curl's", first, FIRST_BYTE),
        report.at_least(f"throughput of {many} at once, part of curl's", through, THROUGHPUT),
    ]
    head = ("downloads at once", "first byte, times curl's", "throughput, part of curl's")
    rows = [
        [f"{concurrent}", report.spread(each.first_byte, 1), report.spread(each.throughput)]
        for concurrent, each in found.items()
    ]
    return [*report.table(report.TARGETS, verdicts), *report.table(head, rows)]
