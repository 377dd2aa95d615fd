"""check_document_counts [--mend]"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from config.management.progress import ProgressCommand, first_line
from config.management.shutdown import Stopped, stoppable
from documents.counts.check import differences


class Command(ProgressCommand):
    help = (
        "Tells each workspace and status whose kept document count (GET /me reads it) is not what "
        "counting documents gives, one JSON object a line; exit status 1 if there are any. Others "
        "may write documents meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--mend", action="store_true", help="put the counted ones in their place; status 0 then"
        )

    def handle(self, *, mend: bool, **options: Any) -> None:
        different = 0
        with stoppable() as stop:
            try:
                for each in differences(self.say, stop, mend=mend):
                    different += 1
                    self.stdout.write(json.dumps(asdict(each), default=str))
            except Stopped as exc:
                raise CommandError("Stopped before the end.", returncode=exc.status) from exc
            except DatabaseError as exc:
                raise CommandError(f"The database: {first_line(exc)}; run it again.") from exc
        if different and not mend:
            raise CommandError(f"Counts that differ: {different}. With --mend they are put right.")
