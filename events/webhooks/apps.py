"""The webhooks app."""

from django.apps import AppConfig

from config.console import system


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from events.webhooks import monitoring  # noqa: PLC0415 - needs the models

        system.register("Webhooks", monitoring.read_facts)
