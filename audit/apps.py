"""The app's name on the admin's pages, what it listens to, and its health check."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit log"

    def ready(self) -> None:
        from audit import accounts, checks, receivers  # noqa: F401, PLC0415 - need the models
        from audit.health import check_seals  # noqa: PLC0415
        from config import health  # noqa: PLC0415 - needs the settings

        accounts.record_changes()
        health.register("audit_seals", check_seals, required=False)
