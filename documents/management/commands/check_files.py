"""check_files [--rate MEGABYTES] [--days N]"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from config.management.shutdown import graceful_shutdown
from documents.integrity import MEGABYTE, FileCheck
from documents.storage import StorageError


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    unfinished = "run it again: it goes on from here"
    help = (
        "Reads the files in object storage and lists those that are missing or damaged, one JSON "
        "object per line, and a summary. The exit status is 1 if there are any. The service can "
        "stay up. A check that was stopped goes on where it was."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--rate",
            type=int,
            default=20,
            metavar="MEGABYTES",
            help="to read at most in a second (default: 20)",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=30,
            metavar="N",
            help="leave out files that were checked within the last N days (default: 30)",
        )

    def handle(self, *, rate: int, days: int, **options: Any) -> None:
        if rate < 1 or days < 0:
            raise CommandError("--rate must be at least 1, and --days at least 0.")
        wrong = 0
        with graceful_shutdown() as shutdown:
            check = FileCheck(self.report, shutdown, days=days, bytes_per_second=rate * MEGABYTE)
            for finding in check.findings():
                wrong += 1
                self.stdout.write(json.dumps(asdict(finding), default=str))
        self.stdout.write(
            json.dumps({"checked": check.checked, "bytes": check.size, "wrong": wrong})
        )
        if wrong:
            raise CommandError(f"Missing or damaged files: {wrong}. See docs/reference.md.")
