"""A Document and a Recipient as JSON objects, with the specification's names, in its order.

Structs over plain rows: for a page of documents they cost a tenth of dicts, which cost a tenth of
nested model serializers. Ids are text; `config.api.responses` writes names and times.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from config.database import Row
from documents.models import Recipient

# SPEC: progress counts those asked to sign or approve; CC and VIEWER are not.
ASKED = frozenset({Recipient.Role.SIGNER.value, Recipient.Role.APPROVER.value})
DONE = frozenset({Recipient.Status.SIGNED.value, Recipient.Status.APPROVED.value})


class RecipientObject(Struct, rename="camel", gc=False):
    """A person on a document; each field is named as its column, in JSON as `camelCase`."""

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
    """How many of the people asked to sign or approve have done so."""

    done: int
    total: int


class DocumentColumns(Struct, rename="camel", gc=False):
    """What a Document object has of its own row."""

    id: str
    title: str
    status: str
    file_name: str
    page_count: int
    file_size: int  # bytes
    signing_order: str
    created_at: datetime
    sent_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None


class DocumentObject(DocumentColumns, rename="camel", gc=False):
    """A document with its people."""

    progress: Progress
    recipients: list[RecipientObject]
    links: dict[str, str]


DOCUMENT_COLUMNS = DocumentColumns.__struct_fields__
RECIPIENT_COLUMNS = RecipientObject.__struct_fields__


def progress(recipients: Iterable[Recipient | RecipientObject]) -> Progress:
    """How far the people of one document are."""
    done = total = 0
    for recipient in recipients:
        if recipient.role in ASKED:
            total += 1
            done += recipient.status in DONE
    return Progress(done, total)


def document_object(row: Row, recipients: list[RecipientObject]) -> DocumentObject:
    """A Document object from a row of DOCUMENT_COLUMNS and its Recipient objects."""
    path = f"/api/v1/documents/{row[0]}"
    links = {"self": path, "download": f"{path}/download"}
    values: Row = (*row, progress(recipients), recipients, links)
    return DocumentObject(*values)


def document_objects(documents: Sequence[Row], recipients: Iterable[Row]) -> list[DocumentObject]:
    """Document objects, from rows of DOCUMENT_COLUMNS and of RECIPIENT_COLUMNS with the
    document's id behind them."""
    by_document: dict[str, list[RecipientObject]] = {row[0]: [] for row in documents}
    for row in recipients:
        by_document[row[-1]].append(RecipientObject(*row[:-1]))
    return [document_object(row, by_document[row[0]]) for row in documents]
