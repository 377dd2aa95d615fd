"""Completes documents of the demo. In the real service, recipients do: this API is read-only."""

import hashlib
import io
from typing import Any

from django.db import transaction
from django.db.models.functions import Coalesce, Now

from audit.models import Action
from audit.record import record
from audit.snapshots import FileSnapshot
from config.runtime.request_context import actor
from documents import storage
from documents.demo.cast import ACME
from documents.demo.loading import DATA
from documents.models import Document, Recipient, StoredFile

Status, Role = Document.Status, Recipient.Role
WAITING = (Status.SENT, Status.VIEWED, Status.PARTIALLY_SIGNED)
FINISHED = {Role.SIGNER: Recipient.Status.SIGNED, Role.APPROVER: Recipient.Status.APPROVED}


@transaction.atomic
def complete_next() -> Document | None:
    """Completes Acme's oldest document that waits for its recipients; None if none does.

    Raises:
        StorageError: a file cannot be saved.
    """
    waiting = Document.objects.filter(workspace=ACME.id).filter(status__in=WAITING, deleted_at=None)
    locked = waiting.select_for_update(skip_locked=True)
    document = locked.order_by("created_at", "id").first()
    if document is None:
        return None
    document.signed = _stored("agreement-5-signed.pdf")
    document.certificate = _stored("agreement-5-certificate.pdf")
    document.status, document.completed_at = Status.COMPLETED, Now()
    document.save()
    for role, status in FINISHED.items():
        document.recipients.filter(role=role).exclude(status=status).update(
            status=status,
            sent_at=Coalesce("sent_at", Now()),
            viewed_at=Coalesce("viewed_at", Now()),
            completed_at=Now(),
        )
    facts: Any = {
        "workspace": document.workspace.snapshot(),
        "document": document.snapshot(),
        "by": actor(),
    }
    record(Action.DOCUMENT_IMPORTED, **facts, detail="completed")
    for file_type, file in (("signed", document.signed), ("certificate", document.certificate)):
        copy = FileSnapshot(file_type=file_type, file_sha256=file.sha256)
        record(Action.FILE_IMPORTED, **facts, file=copy)
    return document


def _stored(name: str) -> StoredFile:
    content = (DATA / name).read_bytes()
    return StoredFile.objects.create(
        object_key=storage.save(io.BytesIO(content)),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
