"""Writes what the process has counted, from a thread: every few seconds, and when it ends.

A batch that cannot be written is tried again the next time. If the database has committed it, and
only its response was lost, it counts twice. Requests wait for nothing here.
"""

import logging
import threading
import time
from multiprocessing.util import Finalize

from django.conf import settings
from django.db import connection

from apikeys.usage.buffers import ADDRESSES, COUNTS
from apikeys.usage.refusals import REFUSED
from apikeys.usage.traffic import TRAFFIC
from config.runtime.database import UNAVAILABLE

logger = logging.getLogger(__name__)

BUFFERS = (COUNTS, ADDRESSES, REFUSED, TRAFFIC)  # what is wrong with one does not keep the others

_lock = threading.Lock()


def flush() -> bool:
    """Writes what waits; returns whether all of it is written."""
    with _lock:
        try:
            written = [buffer.flush() for buffer in BUFFERS]
            return all(written)
        except UNAVAILABLE as exc:
            logger.warning("The usage of keys is written later: %s", exc)
            return False


def _run() -> None:
    while True:
        time.sleep(settings.USAGE_FLUSH_SECONDS)
        try:
            if not flush():
                connection.close()  # this thread has one of its own
        except Exception:  # the thread must live as long as the process
            logger.exception("The usage of keys cannot be written")


def start() -> None:
    """Starts the thread; a process that serves calls this once."""
    threading.Thread(target=_run, name="usage", daemon=True).start()
    Finalize(None, flush, exitpriority=1)  # at the end of a worker
