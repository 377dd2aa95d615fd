"""What a download costs compared with curl from object storage: first byte and throughput."""

import itertools
import os
import statistics
import subprocess
import time
from typing import NamedTuple

from bench import page, report
from bench.loading import Workspace
from bench.scale import Scale
from bench.stack import Stack
from bench.variants import Server
from config.embedded.service import HOST

CONCURRENT = (1, 16)
FIRST_BYTE = 15.0  # the most: of one download, as a multiple of curl's
THROUGHPUT = 0.5  # the least: of 16 downloads at once, as a part of curl's
WRITTEN = "%{time_starttransfer} %{size_download} %{http_code}\\n"


class Ratios(NamedTuple):
    """Of each round, what was measured here divided by what curl from object storage has."""

    first_byte: list[float]  # the time until it
    throughput: list[float]  # bytes a second


def download(url: str, concurrent: int, key: str = "") -> tuple[float, float]:
    """Downloads a URL so many times concurrently.

    Returns:
        The median time to the first byte in seconds, and bytes a second of all together.

    Raises:
        RuntimeError: not all responses are 200.
    """
    command = ["curl", "-sS", "-o", "/dev/null", "-w", WRITTEN, url]
    command += ["-H", f"Authorization: Bearer {key}"] if key else []
    started = time.monotonic()
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(concurrent)
    ]
    responses = [process.communicate()[0].split() for process in running]
    took = time.monotonic() - started
    if any(status != "200" for *_, status in responses):
        raise RuntimeError(f"not all responses are 200: {responses}")
    sizes = sum(int(size) for _, size, _ in responses)
    return statistics.median(float(first) for first, *_ in responses), sizes / took


def measure(stack: Stack, scale: Scale, server: Server, large: Workspace) -> dict[int, Ratios]:
    """By the number of concurrent downloads, which the application sends itself.

    Both are measured in turn. Of several downloads there are a third of the rounds.
    """
    stack.prepare()
    with stack.connect() as connection:
        [[document, object_key]] = connection.execute(
            "SELECT document.id, object_key FROM documents_document document"
            " JOIN documents_storedfile file ON file.id = coalesce(signed_id, original_id)"
            " WHERE workspace_id = %s AND deleted_at IS NULL"
            " ORDER BY document.created_at DESC, document.id DESC LIMIT 1",
            [large.id],
        )
    url = f"http://{HOST}:{server.port}/api/v1/documents/{document}/download"
    named = {"Bucket": os.environ["S3_BUCKET"], "Key": object_key}
    direct = stack.storage().generate_presigned_url("get_object", named)
    keys = itertools.cycle(key.raw for key in large.keys)  # each has its rate limit
    found = {concurrent: Ratios([], []) for concurrent in CONCURRENT}
    for _ in range(3):  # until connections are open
        download(url, max(CONCURRENT), next(keys))
    for concurrent, measured in found.items():
        rounds = 4 * scale.rounds
        for _ in range(rounds if concurrent == 1 else -(-rounds // 3)):
            direct_first, direct_rate = download(direct, concurrent)
            first, rate = download(url, concurrent, next(keys))
            measured.first_byte.append(first / direct_first)
            measured.throughput.append(rate / direct_rate)
    return found


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
        [f"{concurrent}", page.spread(each.first_byte, 1), page.spread(each.throughput)]
        for concurrent, each in found.items()
    ]
    return [*page.table(report.TARGETS, verdicts), *page.table(head, rows)]
