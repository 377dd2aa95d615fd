"""The usage of keys: an app of its own inside of `apikeys`, with its own tables."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "apikeys.usage"
    label = "usage"
    verbose_name = "Requests"

    def ready(self) -> None:
        from apikeys.usage.recorder import request_ended  # noqa: PLC0415 - needs the models
        from config import listeners  # noqa: PLC0415

        listeners.register(request_ended)
