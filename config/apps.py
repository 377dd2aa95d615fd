"""The project itself as an app: system checks and the `run` command."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415 - registers them
