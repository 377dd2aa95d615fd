"""The API's objects for documents; responses are encoded from these structs.

The fields are in the specification's order; the OpenAPI document describes them. Structs are made
from plain rows, whose ids are text already: for a page of documents they cost a tenth of dicts,
which cost a tenth of nested model serializers.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from documents.models import RecipientRole, RecipientStatus

# SPEC: progress counts the recipients who are asked to sign or approve, and those who have done so.
ASKED = frozenset({RecipientRole.SIGNER.value, RecipientRole.APPROVER.value})
DONE = frozenset({RecipientStatus.SIGNED.value, RecipientStatus.APPROVED.value})


class Recipient(Struct, rename="camel", gc=False):
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


class Progress(Struct, gc=False):
    done: int
    total: int


class Links(Struct, gc=False):
    itself: str = field(name="self")
    download: str


class DocumentRow(Struct, rename="camel", gc=False):
    """The fields that are columns of the document's own row."""

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


class WorkspaceDocument(DocumentRow):
    progress: Progress
    recipients: list[Recipient]
    links: Links


RECIPIENT_COLUMNS = Recipient.__struct_fields__
DOCUMENT_COLUMNS = DocumentRow.__struct_fields__
id_of = itemgetter(DOCUMENT_COLUMNS.index("id"))


class DocumentAnswer(Struct, gc=False):
    """The response of GET /documents/{id}."""

    data: WorkspaceDocument


class DocumentPage(Struct, rename="camel", gc=False):
    """The response of GET /documents: one page, newest first."""

    data: list[WorkspaceDocument]
    next_cursor: str | None


def document(row: Sequence[Any], recipients: list[Recipient]) -> WorkspaceDocument:
    """The object of a row with DOCUMENT_COLUMNS, and of its recipients."""
    path = f"/api/v1/documents/{id_of(row)}"
    links = Links(path, f"{path}/download")
    fields = (*row, progress(recipients), recipients, links)
    return WorkspaceDocument(*fields)


def progress(recipients: Iterable[Any]) -> Progress:
    """The progress of a document with these recipients, which have a `role` and a `status`."""
    done = total = 0
    for recipient in recipients:
        if recipient.role in ASKED:
            total += 1
            done += recipient.status in DONE
    return Progress(done, total)
