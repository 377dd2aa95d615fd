import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from audit.models import Action
from audit.record import record
from config.management.progress import InterruptibleCommand
from config.management.shutdown import graceful_shutdown
from config.request.context import actor
from workspaces.counts import differences


class Command(InterruptibleCommand):
    unfinished = "run it again"
    help = (
        "Lists the document counts (GET /me reads them) that differ from the number of documents, "
        "one JSON object per line. The exit status is 1 if there are any. The service can stay up."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--fix", action="store_true", help="correct the counts; the exit status is 0 then"
        )

    def handle(self, *, fix: bool, **options: Any) -> None:
        different = 0
        with graceful_shutdown() as shutdown:
            try:
                for each in differences(self.report, shutdown, fix=fix):
                    different += 1
                    self.stdout.write(json.dumps(asdict(each), default=str))
            finally:
                if fix and different:  # also if it was stopped before the end
                    detail = f"Counts corrected: {different}"
                    record(Action.COMMAND_RUN, by=actor(), detail=detail)
        if different and not fix:
            raise CommandError(f"Wrong counts: {different}. Run it with --fix to correct them.")
