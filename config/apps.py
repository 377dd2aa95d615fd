"""The project as an app, with its system checks and the `run` command."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules

from config.connections import connect_receivers


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        autodiscover_modules("checks", "monitoring")  # of all apps
        connect_receivers()
