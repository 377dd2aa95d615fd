"""An export on its way to a browser; its end is another audit entry."""

import logging
import time
from collections.abc import Iterator

from django.db import DatabaseError, InterfaceError
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from audit.models import Action, AuditEntry
from audit.record import record_end

logger = logging.getLogger(__name__)

EXPORT_SECONDS = 900.0  # that an export may take; then it is broken off


class Sending:
    """The parts of an export, one at a time.

    Args:
        parts: each with the number of entries in it.
        started: the audit entry of the export.
    """

    def __init__(self, parts: Iterator[tuple[int, str]], started: AuditEntry) -> None:
        self._parts = parts
        self._started = started
        self._count = 0  # entries that the server has been given
        self._last = time.monotonic() + EXPORT_SECONDS
        self._ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if time.monotonic() > self._last:
            raise TimeoutError("the export takes too long")
        try:
            count, text = next(self._parts)
        except StopIteration:
            self._end(f"{self._count:,} {'entry' if self._count == 1 else 'entries'}")
            raise
        self._count += count
        return text

    def close(self) -> None:
        """The server calls it after the last byte, or if the client left."""
        self._end(f"broken off after {self._count:,} entries")

    def _end(self, detail: str) -> None:
        if self._ended:
            return
        self._ended = True
        try:
            record_end(self._started, Action.LOG_EXPORT_ENDED, detail=detail)
        except (DatabaseError, InterfaceError) as exc:
            # The export itself is recorded, and its bytes have been sent; only log the failure.
            logger.error("The end of an export could not be recorded: %r", exc)


def send(
    started: AuditEntry, parts: Iterator[tuple[int, str]], *, name: str, content_type: str
) -> StreamingHttpResponse:
    """The file as a download.

    Args:
        started: the audit entry of the export, committed before the first byte.
        parts: as in `Sending`.
        name: of the file.
    """
    return StreamingHttpResponse(
        Sending(parts, started),
        content_type=content_type,
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
