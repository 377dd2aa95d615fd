from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "events.webhooks"

    def ready(self) -> None:
        from config.request import metrics  # noqa: PLC0415 - needs the settings
        from events.webhooks import monitoring  # noqa: PLC0415 - registers a check

        metrics.readers.append(monitoring.read_metrics)
