"""createsuperuser: Django's, which says that a login is taken in another case."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError
from django.db import IntegrityError


class Command(createsuperuser.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            super().handle(*args, **options)
        except IntegrityError as exc:
            raise CommandError("Error: That username is already taken, in another case.") from exc
