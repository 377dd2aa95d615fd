"""The OpenAPI operations of the list of documents and of one document."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from msgspec import to_builtins

from config.api import errors
from config.api.parameters import LIMIT_EXPECTED
from config.api.schema.headers import JSON_HEADERS, LINK
from config.api.schema.operations import IF_NONE_MATCH, json_responses, limit, query
from documents.api.parameters import CURSOR_EXPECTED, STATUS_FILTER
from documents.api.serializers import DocumentAnswer, DocumentPage, links

extend_schema_serializer(many=False)(DocumentPage)  # the page itself, not an array of pages

DOCUMENT_ID = "0f8b6c0e-3f5e-4c57-9f0a-6d1f0c2b9a11"
DOCUMENT: dict[str, Any] = {
    "id": DOCUMENT_ID,
    "title": "Frame agreement 2026",
    "status": "PARTIALLY_SIGNED",
    "fileName": "frame-agreement.pdf",
    "pageCount": 4,
    "fileSize": 48213,
    "signingOrder": "SEQUENTIAL",
    "createdAt": "2026-03-01T09:30:00Z",
    "sentAt": "2026-03-01T10:00:00Z",
    "completedAt": None,
    "expiresAt": "2026-04-01T00:00:00Z",
    "progress": {"done": 1, "total": 2},
    "recipients": [
        {
            "id": "4a7d9c52-8e1b-4b6f-a0c3-2f5e8d7b1c90",
            "name": "Ada Lovelace",
            "email": "ada@example.com",
            "role": "SIGNER",
            "status": "SIGNED",
            "order": 1,
            "sentAt": "2026-03-01T10:00:00Z",
            "viewedAt": "2026-03-02T08:12:41.500000Z",
            "completedAt": "2026-03-02T08:15:03.120000Z",
            "declinedAt": None,
            "declineReason": None,
        },
        {
            "id": "b3e60f1d-5c2a-4d98-8f74-9a1c0e6d2b35",
            "name": "Charles Babbage",
            "email": "charles@example.com",
            "role": "APPROVER",
            "status": "SENT",
            "order": 2,
            "sentAt": "2026-03-02T08:15:04Z",
            "viewedAt": None,
            "completedAt": None,
            "declinedAt": None,
            "declineReason": None,
        },
    ],
    "links": to_builtins(links(DOCUMENT_ID)),
}
CURSOR = "AAZL8bG2cAAPi2wOP15MV58KbR8MK5oRAAAAAAAAAAAA.Zr3kq0Vt6b1mB5cYp0Yx2gQ7sLw9nHjKdTfEuXoAaIc"

ID = OpenApiParameter(
    "id",
    OpenApiTypes.UUID,
    OpenApiParameter.PATH,
    description="The document's identifier. One that is not a UUID is unknown: 404.",
    examples=[OpenApiExample("Document", DOCUMENT_ID)],
)

list_documents = extend_schema(
    operation_id="list_documents",
    summary="List documents",
    description="""Lists the documents of the key's workspace, newest first, without deleted ones.

Repeat the request with `cursor` set to the last `nextCursor`, and the same `status`, until
`nextCursor` is null. No document is returned twice. Without `status`, each document that existed
at the first request is returned, unless it is deleted before its page is requested. With `status`,
the same is true of each document that keeps this status: one whose status changes in the meantime
may be missing. Documents that are created or restored in the meantime may be missing too.

A change may take a few seconds to appear in the list. `GET /api/v1/documents/{id}` shows it at
once.""",
    tags=["Documents"],
    parameters=[
        query(
            "status",
            {"type": "string", "enum": list(STATUS_FILTER)},
            "Only documents with this status. `PARTIALLY_SIGNED` is a status but not a filter "
            "value: such documents are in the list without `status`.",
        ),
        limit("documents"),
        query(
            "cursor",
            {"type": "string", "minLength": 1},
            "The `nextCursor` of the previous page; omit it for the first page. It is opaque, and "
            "belongs to one workspace and one `status` filter.",
        ),
        IF_NONE_MATCH,
        *JSON_HEADERS,
        LINK,
    ],
    responses=json_responses(
        DocumentPage,
        "One page of documents.",
        [
            OpenApiExample("Page", {"data": [DOCUMENT], "nextCursor": CURSOR}),
            OpenApiExample("Last page", {"data": [], "nextCursor": None}),
        ],
        errors.InvalidParameter("status", f"one of {', '.join(STATUS_FILTER)}"),
        errors.InvalidParameter("limit", LIMIT_EXPECTED),
        errors.InvalidParameter("cursor", CURSOR_EXPECTED),
    ),
)

get_document = extend_schema(
    operation_id="get_document",
    summary="Get one document",
    description="Returns one document with its recipients. A recipient's `role` is what they are "
    "asked to do.",
    tags=["Documents"],
    parameters=[ID, IF_NONE_MATCH, *JSON_HEADERS],
    responses=json_responses(
        DocumentAnswer,
        "The document.",
        [OpenApiExample("Document", {"data": DOCUMENT})],
        errors.DocumentNotFound(),
    ),
)
