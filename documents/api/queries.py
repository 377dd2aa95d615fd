"""What the API reads of documents: plain rows, by prepared statements.

Every statement begins with the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.database import Row, fetch
from documents.api.serializers import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS

Place = tuple[datetime, UUID]  # created_at and id: where a document stands in the order


class FileFacts(NamedTuple):
    """A stored file; all None of a document that has none of this type."""

    object_key: str
    size: int  # bytes
    sha256: str  # hex digits
    created_at: datetime


class DocumentFiles(NamedTuple):
    """A document as a download needs it. One that is COMPLETED has all three files."""

    id: UUID
    title: str
    status: str
    file_name: str
    original: FileFacts
    signed: FileFacts
    certificate: FileFacts


def _columns(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; an id as the text that JSON will have."""
    return ", ".join(f'{table}."{n}"{"::text" if n.endswith("id") else ""}' for n in names)


_VISIBLE = "document.workspace_id = %s AND document.deleted_at IS NULL"
_DOCUMENTS = f"""
    SELECT {_columns("document", DOCUMENT_COLUMNS)}
    FROM "documents_document" AS document WHERE {_VISIBLE}
"""
_STATUS = " AND document.status = %s"
_BEYOND = " AND (document.created_at, document.id) < (%s, %s)"
# `id` alone would be the text that is selected, which no index has.
_NEWEST_FIRST = " ORDER BY document.created_at DESC, document.id DESC LIMIT %s"
_ONE = " AND document.id = %s"
_RECIPIENTS = f"""
    SELECT {_columns("recipient", [*RECIPIENT_COLUMNS, "document_id"])}
    FROM "documents_recipient" AS recipient WHERE recipient.document_id = ANY(%s::uuid[])
    ORDER BY recipient.document_id, recipient."order", recipient.id
"""
_FILES = f"""
    SELECT document.id, document.title, document.status, document.file_name,
        {_columns("original", FileFacts._fields)},
        {_columns("signed", FileFacts._fields)},
        {_columns("certificate", FileFacts._fields)}
    FROM "documents_document" AS document
    LEFT JOIN "documents_storedfile" AS original ON original.id = document.original_id
    LEFT JOIN "documents_storedfile" AS signed ON signed.id = document.signed_id
    LEFT JOIN "documents_storedfile" AS certificate ON certificate.id = document.certificate_id
    WHERE {_VISIBLE}
"""


def newest(workspace_id: UUID, status: str | None, beyond: Place | None, count: int) -> list[Row]:
    """At most `count` documents, newest first, as rows of DOCUMENT_COLUMNS.

    Args:
        status: only those with exactly this one.
        beyond: only those that stand after this place.
    """
    statement = (
        _DOCUMENTS + (_STATUS if status else "") + (_BEYOND if beyond else "") + _NEWEST_FIRST
    )
    filters = ((status,) if status else ()) + (beyond or ())
    return fetch(statement, (workspace_id, *filters, count))


def document_id(text: str) -> UUID:
    """The id in a path. A malformed one is one that no document has.

    Raises:
        DocumentNotFound: the text is no UUID.
    """
    try:
        parsed = UUID(text)
    except ValueError:
        raise DocumentNotFound from None
    if str(parsed) != text.lower():
        raise DocumentNotFound
    return parsed


def one(workspace_id: UUID, id: str) -> Row:
    """One document as a row of DOCUMENT_COLUMNS.

    Raises:
        DocumentNotFound: unknown, malformed, deleted, or another workspace's: all the same miss.
    """
    rows = fetch(_DOCUMENTS + _ONE, (workspace_id, document_id(id)))
    if not rows:
        raise DocumentNotFound
    return rows[0]


def recipients_of(documents: Iterable[Row]) -> list[Row]:
    """The recipients of some documents: RECIPIENT_COLUMNS and the document's id.

    Those of one document stand in their order. (Sorting across documents instead would compare
    every recipient with every other document's.)
    """
    ids = ",".join(row[0] for row in documents)
    return fetch(_RECIPIENTS, (f"{{{ids}}}",))


def files_of(workspace_id: UUID, id: str) -> DocumentFiles:
    """One document with its files.

    Raises:
        DocumentNotFound: as of `one`.
    """
    rows = fetch(_FILES + _ONE, (workspace_id, document_id(id)))
    if not rows:
        raise DocumentNotFound
    row = rows[0]
    files = (FileFacts._make(row[start : start + 4]) for start in (4, 8, 12))
    return DocumentFiles(*row[:4], *files)
