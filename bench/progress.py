"""Lines for the person who waits, on stderr."""

import sys
import time

EVERY = 5.0  # seconds between two lines about one thing


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Progress:
    """How far something long is, said every few seconds.

    Args:
        what: in the plural.
        total: how many there will be.
    """

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.started = self.said = time.monotonic()

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self.said >= EVERY or self.done == self.total:
            self.said = now
            took = now - self.started
            say(f"  {self.what}: {self.done:,} of {self.total:,}, {took:.0f} s")
