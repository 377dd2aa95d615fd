import logging
import threading
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import Error, close_old_connections, connection

from apikeys import mails as keys
from apikeys.usage import purge as usage
from config.checks import HOUSEKEEPING
from config.connections import connect_as, fetch
from config.management.progress import InterruptibleCommand
from config.management.shutdown import Shutdown, graceful_shutdown
from documents import outdated
from events import purge as events
from events.webhooks import secrets, services
from workspaces import counts, mails

logger = logging.getLogger(__name__)

EVERY = 600.0  # seconds between two times with --follow
IS_SEEN = 10.0  # seconds between two statements, by which `config.connections` counts the process

# Each is done until it returns something false. None waits for anything but the database.
JOBS: dict[str, Callable[[], object]] = {
    "folding the counts of /me": counts.fold,
    "writing what the search keeps of documents": outdated.write_outdated,
    "deleting old usage of keys and refused requests": usage.purge,
    "deleting old events and deliveries": events.purge,
    "deleting expired sessions": partial(call_command, "clearsessions"),
    "encrypting the secrets of webhooks again": secrets.encrypt_again,
    "notifying of keys": keys.notify_of_keys,
    "notifying of webhooks that fail": services.notify_of_failing,
    "deleting old e-mails": mails.purge,
}


class Command(InterruptibleCommand):
    help = (
        "Deletes what is older than it is kept, folds the counts of /me, encrypts secrets under "
        "the present SECRET_KEY, and adds e-mails about keys and webhooks; --follow sends e-mails."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--follow", action="store_true", help="at once, then every ten minutes until a signal"
        )

    def handle(self, *, follow: bool, **options: Any) -> None:
        if follow:
            connect_as(HOUSEKEEPING)
            threading.Thread(target=mails.send_for_ever, daemon=True).start()
        with graceful_shutdown() as shutdown:
            failed = self._do_all(shutdown)
            while follow:
                for _ in range(int(EVERY / IS_SEEN)):
                    close_old_connections()
                    with suppress(Error):  # the next one may reach the database
                        fetch("SELECT 1", [])
                    shutdown.wait(IS_SEEN)
                failed = self._do_all(shutdown)
        if failed:
            raise CommandError(f"Not done: {', '.join(failed)}.")

    def _do_all(self, shutdown: Shutdown) -> list[str]:
        failed = []
        for name, job in JOBS.items():
            try:
                while job():
                    self.report(f"{name} …")
                    shutdown.check()
            except Exception:
                logger.exception("Failed: %s", name)
                connection.close()  # the next job gets another one, should it be broken
                failed.append(name)
            shutdown.check()
        return failed
