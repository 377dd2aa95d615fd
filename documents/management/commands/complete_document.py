"""complete_document"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from documents.demo.completing import complete_next
from documents.storage import StorageError


class Command(BaseCommand):
    requires_migrations_checks = True
    help = "Completes a document of the demo's workspace Acme, to show what webhooks do."

    def handle(self, **options: Any) -> None:
        try:
            document = complete_next()
        except StorageError as exc:
            raise CommandError(f"Object storage: {exc}; nothing was completed.") from exc
        if document is None:
            raise CommandError("No document of the demo's workspace Acme waits for signatures.")
        self.stdout.write(f"Completed: {document.title} ({document.pk})")
