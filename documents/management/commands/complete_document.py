"""complete_document"""

from typing import Any

from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from documents.demo.completing import complete_next
from documents.storage import StorageError


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    unfinished = "nothing was completed"
    help = "Completes a document of the demo's workspace Acme, to show what webhooks do."

    def handle(self, **options: Any) -> None:
        document = complete_next()
        if document is None:
            raise CommandError("No document of the demo's workspace Acme waits for signatures.")
        self.stdout.write(f"Completed: {document.title} ({document.pk})")
