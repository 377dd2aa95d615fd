"""The project as an app, with its system checks and the `run` command."""

from django.apps import AppConfig

from config.connections import connect_receivers


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415 - registers them

        connect_receivers()
