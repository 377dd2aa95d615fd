"""A Document and a Recipient as JSON objects, with the specification's names, in its order.

Plain functions over plain rows: for a page of documents they cost a tenth of nested model
serializers. Ids are text, times are left for `config.answers` to write.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from config.statements import Row
from documents.models import Recipient

# SPEC: progress counts those asked to sign or approve; CC and VIEWER are not.
ASKED = frozenset({Recipient.Role.SIGNER.value, Recipient.Role.APPROVER.value})
DONE = frozenset({Recipient.Status.SIGNED.value, Recipient.Status.APPROVED.value})

# Field → the column it is read from. A Document has further fields, that are made.
DOCUMENT = {
    "id": "id",
    "title": "title",
    "status": "status",
    "fileName": "file_name",
    "pageCount": "page_count",
    "fileSize": "file_size",
    "signingOrder": "signing_order",
    "createdAt": "created_at",
    "sentAt": "sent_at",
    "completedAt": "completed_at",
    "expiresAt": "expires_at",
}
RECIPIENT = {
    "id": "id",
    "name": "name",
    "email": "email",
    "role": "role",
    "status": "status",
    "order": "order",
    "sentAt": "sent_at",
    "viewedAt": "viewed_at",
    "completedAt": "completed_at",
    "declinedAt": "declined_at",
    "declineReason": "decline_reason",
}
DOCUMENT_COLUMNS = tuple(DOCUMENT.values())
RECIPIENT_COLUMNS = tuple(RECIPIENT.values())


def progress(recipients: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How many of the people asked to sign or approve have done so."""
    asked = [recipient["status"] for recipient in recipients if recipient["role"] in ASKED]
    return {"done": sum([status in DONE for status in asked]), "total": len(asked)}


def recipient_json(row: Row) -> dict[str, Any]:
    """A Recipient object from a row that begins with RECIPIENT_COLUMNS."""
    return dict(zip(RECIPIENT, row, strict=False))


def document_json(row: Row, recipients: list[dict[str, Any]]) -> dict[str, Any]:
    """A Document object from a row of DOCUMENT_COLUMNS and its Recipient objects."""
    document = dict(zip(DOCUMENT, row, strict=True))
    path = f"/api/v1/documents/{row[0]}"
    document["progress"] = progress(recipients)
    document["recipients"] = recipients
    document["links"] = {"self": path, "download": f"{path}/download"}
    return document


def documents_json(documents: Sequence[Row], recipients: Iterable[Row]) -> list[dict[str, Any]]:
    """Document objects, from rows of DOCUMENT_COLUMNS and of RECIPIENT_COLUMNS with the
    document's id behind them."""
    by_document: dict[str, list[dict[str, Any]]] = {row[0]: [] for row in documents}
    for row in recipients:
        by_document[row[-1]].append(recipient_json(row))
    return [document_json(row, by_document[row[0]]) for row in documents]
