from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit import monitoring  # noqa: PLC0415 - registers checks
        from config.request import metrics  # noqa: PLC0415 - needs the settings

        metrics.readers.append(monitoring.read_metrics)
