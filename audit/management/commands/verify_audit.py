"""verify_audit [--checkpoint FILE]"""

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from audit import record
from audit.tree.keys import public_keys
from audit.tree.note import NoteError, PublicKey, Statement, open_note, read_notes
from audit.tree.verify import WINDOW, Result, Verifier
from config.management.progress import Progress, ProgressCommand, first_line
from config.management.shutdown import Stopped, graceful_shutdown
from config.request_context import actor

NAMED = 1000  # problems that are printed


class Command(ProgressCommand):
    requires_migrations_checks = True
    help = (
        "Compares every audit entry with the sealed tree and with signed checkpoints. Prints one "
        "sentence for each problem; the exit status is 1 if there are any."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--checkpoint",
            type=Path,
            metavar="FILE",
            help="checkpoints that a witness has kept, one or many; without it, only the "
            "database's own are compared, which its owner can change",
        )

    def handle(self, *, checkpoint: Path | None, **options: Any) -> None:
        try:
            keys = public_keys()
            outside = list(read_checkpoints(checkpoint, keys)) if checkpoint else []
        except (ImproperlyConfigured, NoteError) as exc:
            raise CommandError(str(exc)) from exc
        except (OSError, UnicodeError) as exc:
            raise CommandError(f"{checkpoint} cannot be read: {exc}.") from exc
        with graceful_shutdown() as shutdown:
            try:
                verifier = Verifier(keys, outside, self.found, Progress(self.report), shutdown)
                result = verifier.run()
                self.record(result)
            except Stopped as exc:
                raise CommandError("Stopped before the end.", returncode=exc.status) from exc
            except DatabaseError as exc:
                raise CommandError(f"The database: {first_line(exc)}.") from exc
        if result.problems:
            raise CommandError(f"The audit log is damaged. Problems: {result.problems:,}.")
        self.stdout.write(f"The audit log is intact: {summary(result)}.")

    printed = 0

    def found(self, problem: str) -> None:
        """Prints a problem; the first ones only."""
        self.printed += 1
        if self.printed <= NAMED:
            self.stdout.write(problem)

    def record(self, result: Result) -> None:
        """Adds the result to the log, for the admin's banner and `/readyz`."""
        write = record.log_damaged if result.problems else record.log_verified
        problems = f"{result.problems:,} problems; " if result.problems else ""
        write(person=actor(), detail=problems + summary(result))


def summary(result: Result) -> str:
    """What was verified."""
    sealed = f"{result.sealed:,} sealed entries"
    if result.checkpoint:
        sealed += f" up to {result.checkpoint.sealed_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"{sealed}, {result.unsealed:,} not sealed yet"


def read_checkpoints(file: Path, keys: list[PublicKey]) -> Iterator[Statement]:
    """Checkpoints of a witness, about one for each window; their signatures are valid.

    A file of a year has millions, and the last of a window is enough: the stored checkpoints help
    to find what is wrong within it. If sizes begin again, after a restore, the one before is used
    too.

    Raises:
        NoteError: one is not signed by a known key, or the file has none.
        OSError: it cannot be read.
    """
    before: tuple[int, str] | None = None
    with file.open() as notes:
        for note in read_notes(notes):
            size = Statement.parse(note.rpartition("\n\n")[0] + "\n").size
            if before and not before[0] <= size < (before[0] // WINDOW + 1) * WINDOW:
                yield Statement.parse(open_note(before[1], keys))
            before = size, note
    if before is None:
        raise NoteError(f"{file} has no checkpoint.")
    yield Statement.parse(open_note(before[1], keys))
