from datetime import UTC, datetime
from typing import Any

import msgspec
from django.core.management.base import CommandError

from config.management.progress import InterruptibleCommand
from documents.api.documents import Documents
from documents.demo import ACME, DATA
from documents.importing.importer import Importer
from documents.models import Document
from documents.storage import StorageError

WAITING = ("SENT", "VIEWED", "PARTIALLY_SIGNED")
FINISHED = {"SIGNER": "SIGNED", "APPROVER": "APPROVED"}
FILES = {"original": "", "signed": "-signed", "certificate": "-certificate"}


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    unfinished = "nothing was completed"
    help = "Completes a document of the demo's workspace Acme, to show what webhooks do."

    def handle(self, **options: Any) -> None:
        waiting = Document.objects.filter(workspace=ACME.id, status__in=WAITING, deleted_at=None)
        document = waiting.select_related("workspace").order_by("created_at", "id").first()
        if document is None:
            raise CommandError("No document of the demo's workspace Acme waits for signatures.")
        value = msgspec.to_builtins(Documents(ACME.id).one(str(document.pk)))
        now = datetime.now(UTC).isoformat()
        value |= {"status": "COMPLETED", "completedAt": now}
        value["files"] = {each: f"agreement-5{part}.pdf" for each, part in FILES.items()}
        for recipient in value["recipients"]:
            status = FINISHED.get(recipient["role"], recipient["status"])
            if status != recipient["status"]:
                recipient |= {"status": status, "completedAt": now}
        line = msgspec.json.encode(value)
        Importer(document.workspace, DATA, self.report).run([line], strict=True)
        self.stdout.write(f"Completed: {document.title} ({document.pk})")
