"""How many exports a process sends, and the slots that they take.

A reader may be slow or stop reading, so an export holds a slot of the pages only while it reads.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

from django.conf import settings

from config.postgresql.deadlines import PAGE_SECONDS
from config.request_context import deadline
from config.slots import GATES, NoSlot

# That a process sends at once, one for each user: each takes a thread.
EXPORTS = max(1, settings.SERVER_THREADS // 96)
EXPORT_SECONDS = 900.0  # that an export may take; then it is broken off
PATIENCE = 30.0  # seconds that a batch waits for a slot


class TooManyExports(Exception):
    """The user already has an export in progress, or the process sends its most exports."""


class Exports:
    """The exports that this process sends, one for each user."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[str, float] = {}  # when an export must have ended, by the user's login

    def take(self, person: str) -> None:
        """Counts an export that begins.

        Raises:
            TooManyExports: there are too many.
        """
        now = time.monotonic()
        with self._lock:
            # One that nobody reads stops counting when its time is over.
            self._ends = {each: end for each, end in self._ends.items() if end > now}
            if person in self._ends or len(self._ends) >= EXPORTS:
                raise TooManyExports
            self._ends[person] = now + EXPORT_SECONDS

    def give_back(self, person: str) -> None:
        """Counts an export that has ended."""
        with self._lock:
            self._ends.pop(person, None)


RUNNING = Exports()


@contextlib.contextmanager
def slot() -> Iterator[None]:
    """A slot of the pages, with its database connection.

    Raises:
        NoSlot: none was free in time.
    """
    gate, last = GATES["page"], time.monotonic() + PATIENCE
    while True:
        try:
            gate.enter()
            break
        except NoSlot:
            if time.monotonic() > last:
                raise
    token = deadline.set(time.monotonic() + PAGE_SECONDS)
    try:
        yield
    finally:
        deadline.reset(token)
        gate.leave()
