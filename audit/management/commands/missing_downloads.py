"""missing_downloads LOG"""

import sys
from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.core.management.base import CommandError

from audit.models import AuditEntry
from config.management.progress import InterruptibleCommand, Progress

BATCH = 5000  # lines


class Line(msgspec.Struct):
    """What is read of a line of the access log that deploy/nginx.conf defines."""

    time: str
    request_id: str
    method: str
    path: str
    status: int

    def is_download(self) -> bool:
        """Whether nginx has sent a file or a part of one."""
        is_file = self.path.startswith("/api/v1/documents/") and self.path.endswith("/download")
        return is_file and self.method == "GET" and self.status in (200, 206)


class Command(InterruptibleCommand):
    needs = {OSError: "The log"}
    help = (
        "Compares the downloads in nginx's access log with the audit log, and prints those without "
        "an entry. Then the exit status is 1: a failover or a restore has lost what was committed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("log", metavar="LOG", help="a file, or - for standard input")

    def handle(self, *, log: str, **options: Any) -> None:
        progress = Progress(self.report)
        read = downloads = missing = 0
        with sys.stdin.buffer if log == "-" else Path(log).open("rb") as file:
            while batch := list(islice(file, BATCH)):
                lines = [line for line in map(parsed, batch) if line]
                if not lines:
                    raise CommandError("This is not the access log of deploy/nginx.conf.")
                sent = {line.request_id: line for line in lines if line.is_download()}
                entries = AuditEntry.objects.filter(request_id__in=list(sent))
                recorded = set(entries.values_list("request_id", flat=True))
                lost = [line for id, line in sent.items() if id not in recorded]
                for line in lost:
                    self.stdout.write(msgspec.json.encode(line).decode())
                missing += len(lost)
                downloads += len(sent)
                read += len(batch)
                progress.note(f"{read:,} lines read …")
        if missing:
            raise CommandError(
                f"Downloads without an entry: {missing:,} of {downloads:,}. Keep the log; it has "
                "them. Other changes are lost too: go on as after a restore (docs/operations.md)."
            )
        self.stdout.write(f"The audit log has an entry of each download: {downloads:,}.")


def parsed(line: bytes) -> Line | None:
    """The line; None if it is none, such as half of one on a full disk."""
    try:
        return msgspec.json.decode(line, type=Line)
    except msgspec.DecodeError:
        return None
