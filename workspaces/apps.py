from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "workspaces"

    def ready(self) -> None:
        from django.contrib.auth.models import UserManager  # noqa: PLC0415 - needs the settings

        from workspaces.accounts import logins, recording  # noqa: F401, PLC0415 - its receivers

        UserManager.get_by_natural_key = logins.by_login  # type: ignore[assignment, method-assign]
