"""The app's name on the admin's pages, its checks, and what it tells operators."""

from django.apps import AppConfig

from config.console import system


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit log"

    def ready(self) -> None:
        from audit import checks, monitoring  # noqa: F401, PLC0415 - registers them
        from config.runtime import health, metrics  # noqa: PLC0415 - needs the settings

        metrics.read_database(monitoring.read_metrics)
        health.register("audit_seals", monitoring.check_seals, required=False)
        system.register("Audit log", monitoring.read_log)
        system.register("Backup", monitoring.read_backup)
