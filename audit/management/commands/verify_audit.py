from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from audit.models import Action
from audit.record import record
from audit.sealing import guards
from audit.sealing.checkpoints import read_file
from audit.sealing.keys import NoteError, public_keys
from audit.sealing.verify import Result, Verifier
from config.management.progress import InterruptibleCommand, Progress
from config.management.shutdown import graceful_shutdown
from config.request.context import actor

NAMED = 1000  # problems that are printed


class Command(InterruptibleCommand):
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
        keys = public_keys()
        with graceful_shutdown() as shutdown:
            try:
                outside = read_file(checkpoint, keys) if checkpoint else []
                verifier = Verifier(keys, outside, self.found, Progress(self.report), shutdown)
                for problem in guards.problems():
                    self.found(problem)
                result = verifier.run()
                self.record(result)
            except NoteError as exc:
                raise CommandError(f"{checkpoint}: {exc}.") from exc
            except OSError as exc:
                raise CommandError(f"{checkpoint} cannot be read: {exc.strerror}.") from exc
        if result.warning:
            self.stdout.write(f"Warning: {result.warning}")
        if self.problems:
            raise CommandError(f"The audit log is damaged. Problems: {self.problems:,}.")
        self.stdout.write(f"The audit log is intact: {summary(result)}.")

    problems = 0

    def found(self, problem: str) -> None:
        self.problems += 1
        if self.problems <= NAMED:
            self.stdout.write(problem)

    def record(self, result: Result) -> None:
        """Adds the result to the log, for the admin's banner and `/readyz`."""
        action = Action.LOG_DAMAGED if self.problems else Action.LOG_VERIFIED
        problems = f"{self.problems:,} problems; " if self.problems else ""
        record(action, by=actor(), detail=problems + summary(result))


def summary(result: Result) -> str:
    sealed = f"{result.sealed:,} sealed entries"
    if result.newest:
        sealed += f" up to {result.newest.sealed_at:%Y-%m-%d %H:%M:%S} UTC"
    text = f"{sealed}, {result.unsealed:,} not sealed yet"
    if result.since and result.older:
        text += f", sealed since {result.since:%Y-%m-%d %H:%M} UTC ({result.older:,} are older)"
    return f"{text}, {result.late:,} sealed late" if result.late else text
