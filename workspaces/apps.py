from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "workspaces"
    verbose_name = "Workspaces and users"

    def ready(self) -> None:
        from workspaces import checks  # noqa: F401, PLC0415 - registers them
        from workspaces.accounts import recording  # noqa: PLC0415 - needs the models

        recording.record_changes()
