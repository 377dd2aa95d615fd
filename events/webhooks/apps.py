"""The webhooks app."""

from django.apps import AppConfig

from config import metrics, system


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from events.webhooks import monitoring  # noqa: PLC0415 - needs the models

        metrics.register_database(monitoring.read_metrics)
        system.register("Webhooks", monitoring.read_facts)
