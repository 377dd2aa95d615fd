"""A Document and a Recipient as JSON objects, with the specification's names, in its order.

Plain functions over plain rows: for a page of documents they cost a tenth of nested model
serializers. UUIDs and times are left as they are, the renderer writes them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from documents.models import Recipient

# SPEC: progress counts those asked to sign or approve; CC and VIEWER are not.
ASKED = (Recipient.Role.SIGNER, Recipient.Role.APPROVER)
DONE = (Recipient.Status.SIGNED, Recipient.Status.APPROVED)

# The columns each function reads, in this order.
DOCUMENT_COLUMNS = (
    "id",
    "title",
    "status",
    "file_name",
    "page_count",
    "file_size",
    "signing_order",
    "created_at",
    "sent_at",
    "completed_at",
    "expires_at",
)
RECIPIENT_COLUMNS = (
    "id",
    "name",
    "email",
    "role",
    "status",
    "order",
    "sent_at",
    "viewed_at",
    "completed_at",
    "declined_at",
    "decline_reason",
)


def progress(recipients: Iterable[dict[str, Any]]) -> dict[str, int]:
    """How many of the people asked to sign or approve have done so."""
    asked = [recipient for recipient in recipients if recipient["role"] in ASKED]
    return {"done": sum(r["status"] in DONE for r in asked), "total": len(asked)}


def recipient_json(row: Sequence[Any]) -> dict[str, Any]:
    """A Recipient object from a row of RECIPIENT_COLUMNS."""
    return {
        "id": row[0],
        "name": row[1],
        "email": row[2],
        "role": row[3],
        "status": row[4],
        "order": row[5],
        "sentAt": row[6],
        "viewedAt": row[7],
        "completedAt": row[8],
        "declinedAt": row[9],
        "declineReason": row[10],
    }


def document_json(row: Sequence[Any], recipients: list[dict[str, Any]]) -> dict[str, Any]:
    """A Document object from a row of DOCUMENT_COLUMNS and its Recipient objects."""
    return {
        "id": row[0],
        "title": row[1],
        "status": row[2],
        "fileName": row[3],
        "pageCount": row[4],
        "fileSize": row[5],
        "signingOrder": row[6],
        "createdAt": row[7],
        "sentAt": row[8],
        "completedAt": row[9],
        "expiresAt": row[10],
        "progress": progress(recipients),
        "recipients": recipients,
        "links": {
            "self": f"/api/v1/documents/{row[0]}",
            "download": f"/api/v1/documents/{row[0]}/download",
        },
    }


def documents_json(rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Document objects for rows of DOCUMENT_COLUMNS, their recipients read in one query."""
    by_document: dict[Any, list[dict[str, Any]]] = {row[0]: [] for row in rows}
    recipients = (
        Recipient.objects.filter(document__in=by_document)
        .order_by("order", "id")
        .values_list(*RECIPIENT_COLUMNS, "document_id")
    )
    for recipient in recipients:
        by_document[recipient[-1]].append(recipient_json(recipient))
    return [document_json(row, by_document[row[0]]) for row in rows]
