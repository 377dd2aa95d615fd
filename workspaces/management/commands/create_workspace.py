import json
import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from config.request.context import actor
from workspaces import changes
from workspaces.accounts.logins import with_login
from workspaces.forms import InvitationForm, NewWorkspaceForm
from workspaces.models import Workspace
from workspaces.plans import Plan


class Command(BaseCommand):
    requires_migrations_checks = True
    help = "Creates a workspace with its first admin; prints both as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the workspace's name")
        parser.add_argument("--plan", required=True, type=str.upper, choices=Plan.values)
        parser.add_argument("--admin", required=True, metavar="EMAIL", help="the first admin")

    def handle(self, *, name: str, plan: str, admin: str, **options: Any) -> None:
        form = NewWorkspaceForm({"name": name, "plan": plan})
        invited = InvitationForm({"email": admin})
        for option, each in (("NAME", form), ("--admin", invited)):
            if not each.is_valid():
                errors = " ".join(str(text) for texts in each.errors.values() for text in texts)
                raise CommandError(f"{option}: {errors}")
        workspace, login = form.instance, invited.cleaned_data["email"]
        password = create(workspace, login)
        printed = {"id": str(workspace.id), "name": workspace.name, "plan": plan, "admin": login}
        if password:
            printed["password"] = password
        self.stdout.write(json.dumps(printed, ensure_ascii=False))


@transaction.atomic
def create(workspace: Workspace, login: str) -> str | None:
    """Returns the password of a new account, None if the login has one."""
    changes.create_workspace(workspace, by=actor())
    user, password = with_login(login).first(), None
    if user is None:
        password = secrets.token_urlsafe(12)
        user = User.objects.create_user(login, login, password, is_staff=True)
    if not user.is_active:
        raise CommandError(f"{login}'s account is deactivated; choose another user.")
    user.is_staff = True
    user.save()
    changes.add_member(workspace, user, by=actor())
    return password
