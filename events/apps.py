"""The events app."""

from django.apps import AppConfig


class EventsConfig(AppConfig):
    name = "events"

    def ready(self) -> None:
        from config import metrics  # noqa: PLC0415 - needs the settings
        from events import monitoring  # noqa: PLC0415

        metrics.readers.append(monitoring.read_metrics)
