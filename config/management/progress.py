"""How far a long command is."""

import time
from collections.abc import Callable

from django.core.management.base import BaseCommand

EVERY = 1.0  # seconds between two lines; a command that is shorter says nothing

Say = Callable[[str], object]


class Progress:
    """Says now and then how much is done."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._next = time.monotonic() + EVERY

    def note(self, line: str) -> None:
        """Says the line if it is time."""
        now = time.monotonic()
        if now >= self._next:
            self._say(line)
            self._next = now + EVERY


class ProgressCommand(BaseCommand):
    """A command that may take long."""

    def say(self, line: str) -> None:
        """Shows how far it is; unlike an error, without colour."""
        self.stderr.write(line, style_func=str)


def first_line(exc: Exception) -> str:
    """What an error of the database is, without its details."""
    return str(exc).partition("\n")[0]
