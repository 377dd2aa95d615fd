"""The app's name on the admin's pages, and what it listens to."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    name = "audit"
    verbose_name = "Audit log"

    def ready(self) -> None:
        from audit import accounts, checks, receivers  # noqa: F401, PLC0415 - need the models

        accounts.record_changes()
