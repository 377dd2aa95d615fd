"""migrate: Django's, as the owner of the tables; then the other roles get their privileges."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import LockNotAvailable

from audit.models import Action
from audit.record import record
from config.management.progress import first_line
from config.runtime.postgresql.roles import as_owner, grant_privileges
from config.runtime.request_context import actor

# Every request that reads a table queues behind a migration that waits for its lock.
LOCK_SECONDS = 1
PAUSE = 2.0  # seconds in which nobody does


def applied() -> set[str]:
    """The migrations that the database has, as "auth.0001_initial"."""
    return {".".join(each) for each in MigrationRecorder(connection).applied_migrations()}


def record_migrations(names: list[str]) -> None:
    """Writes an audit entry, if the audit log has its tables."""
    loader = MigrationLoader(connection)
    if set(loader.graph.leaf_nodes("audit")) <= loader.applied_migrations.keys():
        record(Action.COMMAND_RUN, by=actor(), detail=f"Migrations: {', '.join(names)}")


class Command(migrate.Command):
    """Repeats what a lock has stopped: each migration is atomic, or can be repeated."""

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with as_owner():
                before = applied()  # which the role that serves may not read before the first time
                while not self.migrates(*args, **options):
                    time.sleep(PAUSE)
                changed = applied() ^ before
            if changed:
                record_migrations(sorted(changed))
        except DatabaseError as exc:
            if settings.DATABASE_OWNER_URL:
                raise
            raise CommandError(
                f"{first_line(exc)}. If the role of DATABASE_URL does not own the tables, set "
                "DATABASE_OWNER_URL to the URL of the one that does (deploy/roles.sql)."
            ) from exc

    def migrates(self, *args: Any, **options: Any) -> bool:
        """Whether it could get each lock; what came before that one is done."""
        limit_locks(LOCK_SECONDS)
        try:
            super().handle(*args, **options)
            if not (options["plan"] or options["check_unapplied"]):
                grant_privileges()
        except OperationalError as exc:
            if not isinstance(exc.__cause__, LockNotAvailable):
                raise
            line = "\nAnother transaction uses a table, such as a backup's. Trying again …"
            self.stderr.write(line, style_func=str)
            return False
        return True

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        if action in ("apply_start", "unapply_start"):
            # One that is not atomic builds or drops indexes concurrently, for which nobody queues.
            limit_locks(LOCK_SECONDS if migration.atomic else 0)
        super().migration_progress_callback(action, migration, fake)


def limit_locks(seconds: int) -> None:
    """Statements wait so long for a lock; 0 is for ever."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{seconds}s'")
