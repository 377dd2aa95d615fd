"""Writes what the process has counted, from a thread: every few seconds, and when it ends.

A batch that cannot be written is tried again the next time. If the database has committed it, and
only its response was lost, it counts twice. Requests wait for nothing here.
"""

import logging
import threading
import time

from django.conf import settings

from apikeys.usage.buffers import ADDRESSES, COUNTS
from apikeys.usage.refusals import REFUSED
from apikeys.usage.traffic import TRAFFIC
from config.runtime.database import UNAVAILABLE, current
from config.runtime.request_context import deadline
from config.runtime.slots import SLOTS, NoSlot

logger = logging.getLogger(__name__)

SECONDS = 4.0  # that a flush may take
LAST_SECONDS = 1.0  # the same when the process ends
BUFFERS = (COUNTS, ADDRESSES, REFUSED, TRAFFIC)  # what is wrong with one does not keep the others

_lock = threading.Lock()


def flush(seconds: float = SECONDS) -> bool:
    """Writes what waits; returns whether all of it is written.

    It takes the slot of usage. The database's circuit breaker does not count its failures: a table
    that is locked here says nothing about the requests.
    """
    if not _lock.acquire(timeout=seconds):
        return False
    token = deadline.set(time.monotonic() + seconds)
    try:
        SLOTS["usage"].acquire()
        try:
            with current().guard(counts=False):
                written = [buffer.flush() for buffer in BUFFERS]
        finally:
            SLOTS["usage"].release()
        return all(written)
    except (*UNAVAILABLE, NoSlot) as exc:
        logger.warning("The usage of keys is written later: %s", exc)
        return False
    finally:
        deadline.reset(token)
        _lock.release()


def _run() -> None:
    while True:
        time.sleep(settings.USAGE_FLUSH_SECONDS)
        try:
            flush()
        except Exception:  # the thread must live as long as the process
            logger.exception("The usage of keys cannot be written")


def start() -> None:
    """Starts the thread that writes every few seconds; a server process calls this once."""
    threading.Thread(target=_run, name="usage", daemon=True).start()


def flush_last() -> None:
    """The process ends, and writes what it has counted."""
    flush(LAST_SECONDS)
