"""The usage of keys: an app of its own inside of `apikeys`, with its own tables."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "apikeys.usage"
    label = "usage"
    verbose_name = "Requests"

    def ready(self) -> None:
        from apikeys.usage.report import read_unavailable  # noqa: PLC0415 - needs the models
        from config.console import system  # noqa: PLC0415

        system.register("503 in the last 24 hours", read_unavailable)
