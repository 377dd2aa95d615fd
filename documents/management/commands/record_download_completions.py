"""tail -F LOG | record_download_completions"""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from config.management.shutdown import Stopped, graceful_shutdown
from documents.download.nginx_log import Counts, record_lines


class Command(InterruptibleCommand):
    help = (
        "Records in the audit log how the downloads that nginx served have ended. Reads standard "
        "input: lines of the downloads.log that deploy/nginx.conf writes. Each download is "
        "recorded once, however often its line is read. Ends with its input, or at a signal."
    )

    def handle(self, **options: Any) -> None:
        counts = Counts()
        with graceful_shutdown() as shutdown:
            try:
                record_lines(sys.stdin.fileno(), counts, self.report, shutdown)
            except Stopped:
                pass  # with a pipe that stays open, this is the usual end
            except OSError as exc:
                raise CommandError(f"Standard input cannot be read: {exc.strerror}.") from exc
            finally:
                self.stdout.write(json.dumps(asdict(counts)))
