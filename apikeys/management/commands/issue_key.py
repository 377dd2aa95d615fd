from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from apikeys.models import ApiKey
from config.request.context import actor
from workspaces.accounts.logins import with_login
from workspaces.api_access import access_warning
from workspaces.models import Membership


class Command(BaseCommand):
    requires_migrations_checks = True
    help = (
        "Creates an API key on behalf of an admin of the workspace, and prints it, once. The audit "
        "log names who ran this."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace_id", type=UUID, help="as create_workspace printed it")
        parser.add_argument("name", help="what the key is for; audit entries contain it")
        parser.add_argument("--by", required=True, metavar="EMAIL", help="login of the admin")

    def handle(self, *, workspace_id: UUID, name: str, by: str, **options: Any) -> None:
        login = by.strip()
        admins = Membership.objects.admins().select_related("workspace", "user")
        membership = admins.filter(workspace=workspace_id, user__in=with_login(login)).first()
        if membership is None:
            raise CommandError(f"{login} is not an admin of a workspace with that id.")
        workspace = membership.workspace
        if warning := access_warning(workspace):
            self.stderr.write(f"Note: {warning}")
        try:
            _, raw = ApiKey.objects.issue(
                workspace=workspace, name=name, by=membership.user, ran_by=actor()
            )
        except ValidationError as exc:  # of the name, or too many keys
            raise CommandError(exc.message) from None
        self.stdout.write(raw)
