from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from audit.models import Action
from audit.record import record
from config.request.context import actor

# They keep their order: all have the same position, except for their ids.
_RESTART = """
    UPDATE events_event SET transaction = 0;
    INSERT INTO events_generation DEFAULT VALUES;
"""


class Command(BaseCommand):
    requires_migrations_checks = True
    help = (
        "Starts the feed of events anew, after the database was restored or moved to another "
        "server: transactions are numbered from another start there. Cursors of before get 410, "
        "and consumers page through the list of documents once."
    )

    def handle(self, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_RESTART)
            record(Action.COMMAND_RUN, by=actor(), detail="The feed of events starts anew")
        self.stdout.write("The feed of events starts anew.")
