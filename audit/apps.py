"""The app's name on the admin's pages, what it listens to, and what it tells operators."""

from django.apps import AppConfig

from config import system


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit log"

    def ready(self) -> None:
        from audit import checks, receivers  # noqa: F401, PLC0415 - need the models
        from audit.sealing.monitoring import (  # noqa: PLC0415
            check_seals,
            read_log,
            read_metrics,
        )
        from audit.system import read_backup, read_downloads  # noqa: PLC0415
        from config import health, metrics  # noqa: PLC0415 - need the settings

        health.register("audit_seals", check_seals, required=False)
        metrics.register_database(read_metrics)
        system.register("Audit log", read_log)
        system.register("Backup", read_backup)
        system.register("Downloads", read_downloads, brief=False)
