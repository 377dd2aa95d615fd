"""The ends of downloads that nginx carried, from the log that it writes of them.

The application does not see those ends. `deploy/nginx.conf` writes one line for each, which holds
no address of an object: when it ended, the application's Request-Id, status, bytes that nginx
sent of the body, and bytes that the body has.
"""

import re
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

from django.db import Error as DatabaseError
from django.db import connection

from audit import record
from config.management.progress import Progress, Say, first_line
from config.management.shutdown import Stop
from documents.download.logs import Log

LINE = re.compile(rb"(\d{1,10}\.\d{3}) ([0-9a-f]{32}) (\d{3}) (\d{1,18}) (\d{1,18}|-)")
LINES_AT_ONCE = 1000  # one transaction
LOOK_EVERY = 0.5  # seconds between two looks at a log that is followed
RETRY_AFTER = 2.0  # seconds


@dataclass
class Counts:
    """What became of a log's lines."""

    recorded: int = 0
    recorded_before: int = 0
    unknown: int = 0  # no download of this service has that id
    unreadable: int = 0  # not a line of this log


def parse(line: bytes) -> tuple[str, record.End] | None:
    """The request's id and the download's end; None for what is not a whole line of this log.

    Where nginx answered with an error instead of the file, no byte of the file was sent.
    """
    found = LINE.fullmatch(line)
    if found is None:
        return None
    ended_at, request_id, status, sent, length = found.groups()
    carried = status in (b"200", b"206")
    return request_id.decode(), record.End(
        at=datetime.fromtimestamp(float(ended_at), UTC),
        bytes_sent=int(sent) if carried else 0,
        complete=carried and sent == length,
    )


class Recorder:
    """Records the ends that logs tell of, each once, however often and by how many it is told.

    Attributes:
        counts: so far; they stay true when it is stopped or fails.
    """

    def __init__(self, say: Say, stop: Stop) -> None:
        self.counts = Counts()
        self._say = say
        self._stop = stop
        self._progress = Progress(say)

    def run(self, paths: Iterable[Path], *, follow: bool) -> None:
        """Reads the logs to their ends; with `follow` until it is stopped, as they are written.

        Raises:
            OSError: a log cannot be read.
            django.db.Error: the database is out of reach; with `follow` it is waited for.
            Stopped: between two transactions.
        """
        with ExitStack() as stack:
            logs = [stack.enter_context(closing(Log(path, follow=follow))) for path in paths]
            while True:
                lines = chain.from_iterable(log.lines() for log in logs)
                while batch := list(islice(lines, LINES_AT_ONCE)):
                    self._record(batch, patient=follow)
                    self._stop.check()
                self._stop.check()
                if not follow:
                    return
                time.sleep(LOOK_EVERY)

    def _record(self, lines: list[bytes], *, patient: bool) -> None:
        parsed = [parse(line) for line in lines]
        ends = dict(filter(None, parsed))
        while True:
            try:
                recorded, before = record.downloads_ended(ends)
                break
            except DatabaseError as exc:
                if not patient:
                    raise
                reason = first_line(exc)
                self._say(f"The database: {reason}; trying again.")
            connection.close()
            time.sleep(RETRY_AFTER)
            self._stop.check()
        self.counts.recorded += recorded
        self.counts.recorded_before += before
        self.counts.unknown += len(ends) - recorded - before
        self.counts.unreadable += parsed.count(None)
        if len(lines) == LINES_AT_ONCE:  # there is more: a log that is followed is caught up with
            self._progress.note(f"{self.counts.recorded} ends recorded")
