"""The webhooks app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from events.webhooks import checks  # noqa: F401, PLC0415 - registers them
