"""Writes what the process has counted, from a thread: every few seconds, and when it ends.

A batch that cannot be written is tried again the next time. If the database has committed it, and
only its response was lost, it counts twice. Requests wait for nothing here.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

from django.conf import settings

from apikeys.usage.buffers import Buffer
from apikeys.usage.middleware import BUFFERS
from config.runtime.database import UNAVAILABLE, current
from config.runtime.request_context import deadline
from config.runtime.slots import SLOTS, NoSlot

logger = logging.getLogger(__name__)

SECONDS = 4.0  # that a flush may take
LAST_SECONDS = 1.0  # the same when the process ends
TRY_LATER = (*UNAVAILABLE, NoSlot)


@contextlib.contextmanager
def writing(seconds: float) -> Iterator[None]:
    """Takes the slot of usage, and limits all statements together to so many seconds.

    The database's circuit breaker does not count them: a table that is locked here says nothing
    about the requests.

    Raises:
        NoSlot: there is none.
    """
    semaphore = SLOTS["usage"]
    token = deadline.set(time.monotonic() + seconds)
    try:
        semaphore.acquire()
        try:
            with current().guard(counts=False):
                yield
        finally:
            semaphore.release()
    finally:
        deadline.reset(token)


class Flusher:
    """Writes buffers, each by itself: what is wrong with one does not keep the others."""

    def __init__(self, buffers: tuple[Buffer, ...]) -> None:
        self._buffers = buffers
        self._lock = threading.Lock()

    def flush(self, seconds: float = SECONDS) -> bool:
        """Writes what waits; returns whether all of it is written. It raises nothing."""
        if not self._lock.acquire(timeout=seconds):
            return False
        try:
            with writing(seconds):
                written = [buffer.flush() for buffer in self._buffers]
            return all(written)
        except TRY_LATER as exc:
            logger.warning("The usage of keys is written later: %s", exc)
            return False
        finally:
            self._lock.release()

    def run(self) -> None:
        """Writes every few seconds, as long as the process lives."""
        while True:
            time.sleep(settings.USAGE_FLUSH_SECONDS)
            try:
                self.flush()
            except Exception:  # the thread must live as long as the process
                logger.exception("The usage of keys cannot be written")


FLUSHER = Flusher(BUFFERS)


def start() -> None:
    """Starts the thread; a server process calls this once."""
    threading.Thread(target=FLUSHER.run, name="usage", daemon=True).start()


def flush_last() -> None:
    """The process ends, and writes what it has counted."""
    FLUSHER.flush(LAST_SECONDS)
