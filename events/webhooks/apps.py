"""The webhooks app."""

from django.apps import AppConfig

from config.console import system


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from config.runtime import metrics  # noqa: PLC0415 - needs the settings
        from events.webhooks import monitoring  # noqa: PLC0415 - needs the models

        metrics.read_database(monitoring.read_metrics)
        system.register("Webhooks", monitoring.read_facts)
