import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from audit.models import Action
from audit.record import record
from config.management.progress import InterruptibleCommand
from config.request.context import actor
from workspaces import counts


class Command(InterruptibleCommand):
    help = (
        "Lists the document counts (GET /me reads them) that differ from the number of documents, "
        "one JSON object per line. The exit status is 1 if there are any. The service can stay up."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--fix", action="store_true", help="correct the counts; the exit status is 0 then"
        )

    @transaction.atomic
    def handle(self, *, fix: bool, **options: Any) -> None:
        found = counts.fix() if fix else counts.differences()
        for each in found:
            self.stdout.write(json.dumps(each._asdict(), default=str))
        if found and not fix:
            raise CommandError(f"Wrong counts: {len(found)}. Run it with --fix to correct them.")
        if found:
            record(Action.COMMAND_RUN, by=actor(), detail=f"Counts corrected: {len(found)}")
