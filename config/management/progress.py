"""Long commands: their progress lines, and one line if something stops them."""

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseError

from config.management.shutdown import Stopped

EVERY = 1.0  # seconds between two lines; a shorter command prints none

Report = Callable[[str], object]


class Progress:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._next = time.monotonic() + EVERY

    def note(self, line: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._report(line)
            self._next = now + EVERY


class InterruptibleCommand(BaseCommand):
    """Ends with one line if a signal stops it, a setting is wrong, or a service fails.

    Attributes:
        needs: the exceptions of services besides the database, with the name of each service.
        unfinished: what the line says about the work so far, such as "nothing was imported".
    """

    requires_migrations_checks = True
    needs: ClassVar[Mapping[type[Exception], str]] = {}
    unfinished = ""

    def execute(self, *args: Any, **options: Any) -> str | None:
        needs: dict[type[Exception], str] = {DatabaseError: "The database", **self.needs}
        end = f"; {self.unfinished}." if self.unfinished else "."
        try:
            return super().execute(*args, **options)
        except Stopped as exc:
            raise CommandError(f"Stopped{end}", returncode=exc.code) from exc
        except ImproperlyConfigured as exc:
            raise CommandError(str(exc)) from exc
        except tuple(needs) as exc:
            [service] = [name for kind, name in needs.items() if isinstance(exc, kind)]
            raise CommandError(f"{service}: {first_line(exc)}{end}") from exc

    def report(self, line: str) -> None:
        self.stderr.write(line, style_func=str)  # without the colour of errors


def first_line(exc: Exception) -> str:
    return str(exc).partition("\n")[0]
