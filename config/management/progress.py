"""Progress lines of long commands."""

import time
from collections.abc import Callable

from django.core.management.base import BaseCommand

EVERY = 1.0  # seconds between two lines; a shorter command prints none

Report = Callable[[str], object]


class Progress:
    """Prints a progress line once in a while."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._next = time.monotonic() + EVERY

    def note(self, line: str) -> None:
        """Prints the line if the last one is old enough."""
        now = time.monotonic()
        if now >= self._next:
            self._report(line)
            self._next = now + EVERY


class ProgressCommand(BaseCommand):
    """A command that may take long."""

    def report(self, line: str) -> None:
        """Prints a progress line, without the colour of errors."""
        self.stderr.write(line, style_func=str)


def first_line(exc: Exception) -> str:
    """A database error without its details."""
    return str(exc).partition("\n")[0]
