"""migrate: Django's, as the owner of the tables; then the serving role gets its privileges."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder

from config.management.progress import first_line
from config.postgresql.roles import as_owner, grant_privileges
from config.signals import migrated


def applied() -> set[str]:
    """The migrations that the database has, as "audit.0001_initial"."""
    return {".".join(each) for each in MigrationRecorder(connection).applied_migrations()}


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            before = applied()
            with as_owner():
                super().handle(*args, **options)
                if not (options["plan"] or options["check_unapplied"]):
                    grant_privileges()
            if changed := applied() ^ before:
                migrated.send(None, names=sorted(changed))
        except DatabaseError as exc:
            if settings.DATABASE_OWNER:
                raise
            raise CommandError(
                f"{first_line(exc)}. If the role of DATABASE_URL does not own the tables, set "
                "DATABASE_OWNER_URL to the URL of the one that does (deploy/roles.sql)."
            ) from exc
