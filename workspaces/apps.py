from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "workspaces"
    verbose_name = "Workspaces and users"

    def ready(self) -> None:
        from workspaces.accounts import recording  # noqa: PLC0415 - needs the models

        recording.record_changes()
