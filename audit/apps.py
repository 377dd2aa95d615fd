"""The app's name on the admin's pages, its checks, and what it tells operators."""

from django.apps import AppConfig

from config.console import system


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit log"

    def ready(self) -> None:
        from audit import checks  # noqa: F401, PLC0415 - registers them
        from audit.sealing.monitoring import check_seals, read_log  # noqa: PLC0415
        from audit.system import read_backup, read_downloads  # noqa: PLC0415
        from config.runtime import health  # noqa: PLC0415 - needs the settings

        health.register("audit_seals", check_seals, required=False)
        system.register("Audit log", read_log)
        system.register("Backup", read_backup)
        system.register("Downloads", read_downloads, brief=False)
