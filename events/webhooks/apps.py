from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        from config.request import metrics  # noqa: PLC0415 - needs the settings
        from events.webhooks import checks, monitoring  # noqa: F401, PLC0415 - registers them

        metrics.readers.append(monitoring.read_metrics)
