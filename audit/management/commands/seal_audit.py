from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from audit.models import Action
from audit.record import record
from audit.sealing import checkpoints, state
from audit.sealing.keys import public_keys, signing_key
from audit.sealing.sealer import BATCH, SEAL_EVERY, Sealer
from audit.sealing.witnesses import Publisher, witness
from config.connections import UNAVAILABLE, as_role, connect_as
from config.management.progress import InterruptibleCommand, Progress, first_line
from config.management.shutdown import Shutdown, Stopped, graceful_shutdown
from config.request.context import actor


class Command(InterruptibleCommand):
    requires_system_checks = ()  # they load every view, in a process that runs for ever
    help = (
        "Adds new audit entries to the tree, signs a checkpoint of it, and hands that to the "
        "witnesses (AUDIT_WITNESSES). Several may run at the same time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--follow", action="store_true", help="seal on, until a signal")
        parser.add_argument(
            "--after-restore",
            action="store_true",
            help="seal on although the database has lost sealed entries, and record that",
        )

    def handle(self, *, follow: bool, after_restore: bool, **options: Any) -> None:
        with as_role(settings.DATABASE_SEALER_URL), graceful_shutdown() as shutdown:
            try:
                key, self.keys = signing_key(), public_keys()
                places = [witness(each) for each in settings.AUDIT_WITNESSES]
                self.publisher = Publisher(places, self.report)
                self.sealer = Sealer(key, self.keys, self.publisher.newest(self.keys))
                if follow:
                    connect_as(state.PROCESS)
                    record(Action.COMMAND_RUN, by=actor(), detail=f"{state.BEGAN} {key.public}")
                if after_restore:
                    self.sealer.accept_loss()
                self.seal(shutdown)
                while follow:
                    shutdown.wait(SEAL_EVERY)
                    try:
                        self.seal(shutdown)
                    except UNAVAILABLE as exc:
                        self.report(f"The database: {first_line(exc)}; trying again.")
                        connection.close()
            except Stopped:
                if not follow:
                    raise
        if self.publisher.failed:
            raise CommandError("A witness has not received the newest checkpoint.")

    def seal(self, shutdown: Shutdown) -> None:
        progress = Progress(self.report)
        while True:
            shutdown.check()
            added = self.sealer.seal()
            newest = checkpoints.newest(self.keys)
            if newest.note:
                self.publisher.publish(newest.note)
                progress.note(f"{newest.size:,} entries are sealed …")
            if added < BATCH:
                return
