"""changepassword: Django's, which takes a login in any case."""

from typing import Any

from django.contrib.auth.management.commands import changepassword

from workspaces.accounts.logins import with_login


class Command(changepassword.Command):
    def handle(self, *args: Any, **options: Any) -> str | None:
        if user := with_login(options["username"] or "").first():
            options["username"] = user.username
        return super().handle(*args, **options)
