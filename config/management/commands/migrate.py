"""migrate: Django's, as the owner of the tables; then the serving role gets its privileges."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import DatabaseError

from config.management.progress import first_line
from config.postgresql.roles import as_owner, grant_privileges


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with as_owner():
                super().handle(*args, **options)
                if not (options["plan"] or options["check_unapplied"]):
                    grant_privileges()
        except DatabaseError as exc:
            if settings.DATABASE_OWNER:
                raise
            raise CommandError(
                f"{first_line(exc)}. If the role of DATABASE_URL does not own the tables, set "
                "DATABASE_OWNER_URL to the URL of the one that does (deploy/roles.sql)."
            ) from exc
