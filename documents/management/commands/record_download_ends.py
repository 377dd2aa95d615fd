"""record_download_ends [--follow] LOG…"""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from config.management.progress import ProgressCommand, first_line
from config.management.shutdown import Stopped, stoppable
from documents.download.nginx_log import Recorder


class Command(ProgressCommand):
    help = (
        "Records in the audit log how downloads ended that nginx carried, from the "
        "downloads.log that deploy/nginx.conf writes. Each end is recorded once, however often "
        "its line is read. An nginx that is killed writes no line: what it carried then has no end."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("logs", metavar="LOG", type=Path, nargs="+", help="rotated ones too")
        parser.add_argument(
            "--follow", action="store_true", help="go on as nginx writes and rotates, until stopped"
        )

    def handle(self, *, logs: list[Path], follow: bool, **options: Any) -> None:
        with stoppable() as stop:
            recorder = Recorder(self.say, stop)
            try:
                recorder.run(logs, follow=follow)
            except Stopped as exc:
                if not follow:
                    raise CommandError("Stopped before the end.", returncode=exc.status) from exc
            except DatabaseError as exc:
                raise CommandError(f"The database: {first_line(exc)}; run it again.") from exc
            except OSError as exc:
                raise CommandError(f"{exc.filename} cannot be read: {exc.strerror}.") from exc
            finally:
                self.stdout.write(json.dumps(asdict(recorder.counts)))
