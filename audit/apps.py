from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"

    def ready(self) -> None:
        from audit import checks, monitoring  # noqa: F401, PLC0415 - registers them
        from config.request import metrics  # noqa: PLC0415 - needs the settings

        metrics.readers.append(monitoring.read_metrics)
