"""What a download costs compared with curl from object storage: first byte and throughput."""

import itertools
import os
import subprocess
import time
from statistics import median

from bench.loading import Scale, identifier, object_key, workspaces
from bench.servers import Server
from bench.stack import Stack
from config.embedded.service import HOST

CONCURRENT = {1: 4, 16: 2}  # downloads at once: how often in a round
WRITTEN = "%{time_starttransfer} %{size_download} %{http_code}\\n"

# By the number of concurrent downloads: what was measured here divided by what curl from object
# storage has, of the seconds until the first byte, and of the bytes a second.
Ratios = dict[int, list[tuple[float, float]]]


def _download(url: str, concurrent: int, key: str = "") -> tuple[float, float]:
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
    return median(float(first) for first, *_ in responses), sizes / took


def measure(stack: Stack, scale: Scale, server: Server, found: Ratios) -> None:
    """Downloads that the application sends itself, and curl's of the same object, in turn."""
    large = workspaces(scale)[0]
    document = identifier("document", large.first)
    path = f"/api/v1/documents/{document}/download?type=original"
    url = f"http://{HOST}:{server.port}{path}"
    named = {"Bucket": os.environ["S3_BUCKET"], "Key": object_key(scale, large.first)}
    direct = stack.storage().generate_presigned_url("get_object", named)
    keys = itertools.cycle(key.raw for key in large.keys)  # each has its rate limit
    _download(url, max(CONCURRENT), next(keys))  # opens connections
    for concurrent, times in CONCURRENT.items():
        for _ in range(times):
            expected, here = _download(direct, concurrent), _download(url, concurrent, next(keys))
            found[concurrent].append((here[0] / expected[0], here[1] / expected[1]))
