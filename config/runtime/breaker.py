"""Circuit breakers: a part that fails repeatedly is left alone, so that nobody waits for it.

pybreaker would hold one lock during each call: all threads would query the database in turn.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

logger = logging.getLogger(__name__)

PAUSE = 1.0  # seconds between two attempts while a breaker is open


class BreakerOpen(Exception):
    """The part has just failed repeatedly; it was not called."""


class Breaker:
    """Opens after consecutive failures. While it is open, one call a second is let through.

    The first call that succeeds closes it. Each process has its own breakers.

    Args:
        name: the part, as logs, metrics and `/readyz` name it.
        failures: consecutive ones that open it.
    """

    every: "dict[str, Breaker]" = {}  # by name

    def __init__(self, name: str, failures: int) -> None:
        self.name = name
        self._limit = failures
        self._failures = 0
        self.opened = 0  # how often
        self._next_attempt = 0.0  # on the monotonic clock
        self._lock = threading.Lock()
        self.every[name] = self

    @property
    def open(self) -> bool:
        """Whether calls are refused, apart from one a second."""
        return self._failures >= self._limit

    def admits(self) -> bool:
        """Whether a call may be made now."""
        if not self.open:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._next_attempt:
                return False
            self._next_attempt = now + PAUSE
            return True

    def succeeded(self) -> None:
        """Closes the breaker."""
        if not self._failures:
            return
        with self._lock:
            was_open, self._failures = self.open, 0
        if was_open:
            logger.warning("The %s responds again", self.name)

    def failed(self) -> None:
        """Counts a failure; opens the breaker at the limit."""
        with self._lock:
            was_open = self.open
            self._failures += 1
            self.opened += self.open and not was_open
            self._next_attempt = time.monotonic() + PAUSE
        if self.open and not was_open:
            logger.error("The %s fails repeatedly; it is tried once a second", self.name)

    def undecided(self) -> None:
        """A call that was let through says nothing about the part; another may be made now."""
        with self._lock:
            self._next_attempt = 0.0

    @contextlib.contextmanager
    def call(self, *errors: type[Exception]) -> Iterator[None]:
        """Makes one call; `errors` are failures of the part, any other exception is not.

        Raises:
            BreakerOpen: the call is refused.
        """
        if not self.admits():
            raise BreakerOpen(f"the {self.name} has failed repeatedly")
        try:
            yield
        except errors:
            self.failed()
            raise
        self.succeeded()
