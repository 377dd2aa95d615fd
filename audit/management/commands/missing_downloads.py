import re
import sys
from argparse import ArgumentParser
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from audit.models import AuditEntry
from config.management.progress import InterruptibleCommand, Progress

BATCH = 5000  # lines
# A line of deploy/nginx.conf's access log, and one which says that a file or a part was sent.
LINE = re.compile(rb'\{"time":"[^"]*","request_id":"')
DOWNLOAD = re.compile(
    rb'"request_id":"(\w+)","method":"GET","path":"/api/v1/documents/[^"]+/download","status":20[06],'
)


class Command(InterruptibleCommand):
    needs = {OSError: "The log"}
    help = (
        "Prints the lines of nginx's access log with a download that has no entry in the audit "
        "log. Then the exit status is 1: a failover or a restore has lost what was committed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("log", metavar="LOG", help="a file, or - for standard input")

    def handle(self, *, log: str, **options: Any) -> None:
        progress = Progress(self.report)
        read = understood = downloads = missing = 0
        with sys.stdin.buffer if log == "-" else Path(log).open("rb") as file:
            while lines := list(islice(file, BATCH)):
                found = [(DOWNLOAD.search(line), line) for line in lines]
                sent = {match[1].decode(): line for match, line in found if match}
                entries = AuditEntry.objects.filter(request_id__in=list(sent))
                recorded = set(entries.values_list("request_id", flat=True))
                lost = [line for id, line in sent.items() if id not in recorded]
                for line in lost:
                    self.stdout.write(line.decode(errors="replace"))
                read += len(lines)
                understood += sum(map(bool, map(LINE.match, lines)))
                downloads += len(sent)
                missing += len(lost)
                progress.note(f"{read:,} lines read …")
        if read > understood == 0:
            raise CommandError(
                f"None of the {read:,} lines has the format of the access log in deploy/nginx.conf."
            )
        if missing:
            raise CommandError(
                f"Downloads without an entry: {missing:,} of {downloads:,}. Keep the log; it has "
                "them. Other changes are lost too: go on as after a restore (docs/operations.md)."
            )
        self.stdout.write(
            f"The audit log has an entry of each download in this log: {downloads:,}."
        )
