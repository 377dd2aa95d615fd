"""remove_second_factor LOGIN: for an operator who has lost the phone and the recovery codes."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.request.context import actor
from workspaces.accounts import second_factor
from workspaces.accounts.logins import with_login


class Command(BaseCommand):
    requires_migrations_checks = True
    help = "Removes a user's second factor and recovery codes. Operators can do that in the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("login", help="the user's login")

    def handle(self, *, login: str, **options: Any) -> None:
        user = with_login(login).first()
        if user is None:
            raise CommandError(f"There is no account {login}.")
        if not second_factor.remove(user, by=actor()):
            raise CommandError(f"{login} has no second factor.")
        self.stdout.write(f"The second factor of {login} was removed.")
