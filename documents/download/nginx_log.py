"""Records how the downloads that nginx served have ended, from the log that nginx writes of them.

The application does not see these completions. `deploy/nginx.conf` writes one line for each, which
has no URL of an object: the time, the application's Request-Id, the status, the bytes of the body
that nginx sent, and the length of the body.
"""

import os
import re
import select
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from audit import download_ends
from config.management.progress import Report, first_line
from config.management.shutdown import Shutdown
from config.runtime.database import UNAVAILABLE

LINE = re.compile(rb"(\d{1,10}\.\d{3}) ([0-9a-f]{32}) (\d{3}) (\d{1,18}) (\d{1,18}|-)")
BLOCK = 64 * 1024  # bytes, about 1,000 lines: what is read at once is recorded in one transaction
SIGNAL_CHECK_SECONDS = 0.5  # how often a wait for input is interrupted to check for signals
RETRY_SECONDS = 1.0


@dataclass
class Counts:
    """How many lines of a log were of each kind."""

    recorded: int = 0
    recorded_before: int = 0
    unknown: int = 0  # no download of this service has this request id
    unreadable: int = 0  # not a line of this log


def parse(line: bytes) -> tuple[str, download_ends.Completion] | None:
    """Returns the request's id and the completion, or None if this is not a line of the log.

    If nginx sent an error instead of the file, no byte of the file was sent.
    """
    found = LINE.fullmatch(line)
    if found is None:
        return None
    completed_at, request_id, status, sent, length = found.groups()
    served = status in (b"200", b"206")
    return request_id.decode(), download_ends.Completion(
        at=datetime.fromtimestamp(float(completed_at), UTC),
        bytes_sent=int(sent) if served else 0,
        length=int(length) if served and length != b"-" else None,
    )


def record_lines(file: int, counts: Counts, report: Report, shutdown: Shutdown) -> None:
    """Records the lines of an open file or pipe as they arrive, until its end.

    Each completed download is recorded exactly once, even if several processes read the same log.
    A last line without a newline may be cut short, so it is not recorded.

    Args:
        counts: of the lines so far; correct also after an exception.

    Raises:
        OSError: The file cannot be read.
        django.db.Error: The database refuses a statement. While it is out of reach or read-only,
            this waits for it.
        Stopped: A signal arrived, between two transactions.
    """
    rest = b""
    while True:
        shutdown.check()
        if not select.select([file], [], [], SIGNAL_CHECK_SECONDS)[0]:
            continue
        block = os.read(file, BLOCK)
        if not block:
            return
        *lines, rest = (rest + block).split(b"\n")
        rest = rest[:BLOCK]  # no line of this log is longer
        parsed = [parse(line) for line in lines]
        found = dict(filter(None, parsed))
        recorded, before = _write(found, report, shutdown)
        counts.recorded += recorded
        counts.recorded_before += before
        counts.unknown += len(found) - recorded - before
        counts.unreadable += parsed.count(None)


def _write(
    found: Mapping[str, download_ends.Completion], report: Report, shutdown: Shutdown
) -> tuple[int, int]:
    """Calls `record_ends`, again and again while the database cannot be written."""
    while True:
        try:
            return download_ends.record_ends(found)
        except UNAVAILABLE as exc:
            report(f"The database: {first_line(exc)}; trying again.")
        connection.close()
        shutdown.wait(RETRY_SECONDS)
