"""How many exports a process sends, the slots that they take, and how they end.

A reader may be slow or stop reading, so an export holds a slot of the pages only while it reads.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.contrib import messages
from django.db import DatabaseError, InterfaceError
from django.http import (
    HttpRequest,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.utils.http import content_disposition_header

from audit.models import Action, AuditEntry
from audit.record import record_end
from config.console.base import request_user
from config.runtime.postgresql.deadlines import PAGE_SECONDS
from config.runtime.request_context import deadline
from config.runtime.slots import SLOTS, FairSemaphore, NoSlot, SignedIn

logger = logging.getLogger(__name__)

# That a process sends at once, one for each user: each takes a thread.
EXPORTS = max(1, settings.SERVER_THREADS // 96)
EXPORT_SECONDS = 900.0  # that an export may take; then it is broken off
PATIENCE = 30.0  # seconds that a batch waits for a slot
# All exports are one tenant, so that they leave slots to other pages.
_TENANT = SignedIn(0)


class TooManyExports(Exception):
    """The user already has an export in progress, or the process sends its most exports."""


RUNNING = FairSemaphore(EXPORTS, 0, 1, error=TooManyExports)  # by the user's login


@contextlib.contextmanager
def slot() -> Iterator[None]:
    """A slot of the pages, with its database connection; within a page its own.

    Raises:
        NoSlot: none was free in time.
    """
    if deadline.get() is not None:
        yield
        return
    semaphore, last = SLOTS["page"], time.monotonic() + PATIENCE
    while True:
        try:
            semaphore.acquire(_TENANT)
            break
        except NoSlot:
            if time.monotonic() > last:
                raise
    token = deadline.set(time.monotonic() + PAGE_SECONDS)
    try:
        yield
    finally:
        deadline.reset(token)
        semaphore.release(_TENANT)


class Sending:
    """The parts of an export, one at a time; their end is another audit entry.

    Args:
        parts: each with the number of entries in it. They are read with a `slot`.
        started: the audit entry of the export, which counts in `RUNNING`.
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
        RUNNING.release(self._started.person)
        try:
            with slot():
                record_end(self._started, Action.LOG_EXPORT_ENDED, detail=detail)
        except (DatabaseError, InterfaceError, NoSlot) as exc:
            # The export itself is recorded, and its bytes have been sent; only log the failure.
            logger.error("The end of an export could not be recorded: %r", exc)


def send(
    request: HttpRequest,
    begin: Callable[[], tuple[AuditEntry, Iterator[tuple[int, str]]]],
    *,
    name: str,
    content_type: str,
    back_url: str,
) -> HttpResponseBase:
    """The file as a download, or a redirect with a message if too many are being sent.

    Args:
        begin: records the export, which is committed before the first byte, and returns the entry
            and the parts, as in `Sending`.
        name: of the file.
    """
    try:
        with RUNNING.begin(request_user(request).get_username()):
            started, parts = begin()
            sending = Sending(parts, started)
    except TooManyExports:
        text = "another export is still being sent. Wait until it has ended, or cancel it."
        messages.warning(request, f"Nothing was exported: {text}")
        return HttpResponseRedirect(back_url)
    response = StreamingHttpResponse(
        sending,
        content_type=content_type,
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
    response.without_slot = True  # type: ignore[attr-defined] # see `config.runtime.admission`
    return response
