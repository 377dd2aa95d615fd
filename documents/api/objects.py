"""The API's objects for documents; responses are encoded from these structs.

The fields are in the specification's order; the OpenAPI document describes them. Structs are made
from plain rows, whose ids are text already: for a page of documents they cost a tenth of dicts,
which cost a tenth of nested model serializers.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from documents.progress import Progress, progress


class Recipient(Struct, rename="camel", gc=False):
    """One recipient of a document: what they are asked to do, and how far they are."""

    # Each field is named as its column.
    id: str
    name: str
    email: str
    role: str
    status: str
    order: int
    sent_at: datetime | None
    viewed_at: datetime | None
    completed_at: datetime | None
    declined_at: datetime | None
    decline_reason: str | None


class Links(Struct, gc=False):
    """Paths of the document and its file on this server."""

    itself: str = field(name="self")
    download: str


class WorkspaceDocument(Struct, rename="camel", gc=False):
    """One document with its recipients."""

    # The first fields are columns of the document's own row, and are named as these.
    id: str
    title: str
    status: str
    file_name: str
    page_count: int
    file_size: int
    signing_order: str
    created_at: datetime
    sent_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    progress: Progress
    recipients: list[Recipient]
    links: Links


def document(row: Sequence[Any], recipients: list[Recipient]) -> WorkspaceDocument:
    """The document of a row with DOCUMENT_COLUMNS, and what follows from it and its recipients."""
    path = f"/api/v1/documents/{row[0]}"
    links = Links(path, f"{path}/download")
    fields = (*row, progress(recipients), recipients, links)
    return WorkspaceDocument(*fields)


class DocumentAnswer(Struct, gc=False):
    """The response of GET /documents/{id}."""

    data: WorkspaceDocument


class DocumentPage(Struct, rename="camel", gc=False):
    """The response of GET /documents: one page, newest first."""

    data: list[WorkspaceDocument]
    next_cursor: str | None


DOCUMENT_COLUMNS = WorkspaceDocument.__struct_fields__[:-3]
RECIPIENT_COLUMNS = Recipient.__struct_fields__
