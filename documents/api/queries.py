"""The API's queries for documents and recipients: prepared statements that return plain rows.

Every statement has the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.database import Row, fetch
from documents.api.serializers import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS

Position = tuple[datetime, UUID]  # created_at and id: a document's position in the order


def columns(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; ids as text, as in JSON."""
    return ", ".join(f'{table}."{n}"{"::text" if n.endswith("id") else ""}' for n in names)


VISIBLE = "document.workspace_id = %s AND document.deleted_at IS NULL"
_DOCUMENTS = f"""
    SELECT {columns("document", DOCUMENT_COLUMNS)}
    FROM "documents_document" AS document WHERE {VISIBLE}
"""
_STATUS = " AND document.status = %s"
_AFTER = " AND (document.created_at, document.id) < (%s, %s)"
# `id` alone would be the selected text, which has no index.
_NEWEST_FIRST = " ORDER BY document.created_at DESC, document.id DESC LIMIT %s"
WITH_ID = " AND document.id = %s"
_RECIPIENTS = f"""
    SELECT {columns("recipient", [*RECIPIENT_COLUMNS, "document_id"])}
    FROM "documents_recipient" AS recipient WHERE recipient.document_id = ANY(%s::uuid[])
    ORDER BY recipient.document_id, recipient."order", recipient.id
"""


def newest(workspace_id: UUID, status: str | None, after: Position | None, count: int) -> list[Row]:
    """At most `count` documents, newest first, as rows of DOCUMENT_COLUMNS.

    Args:
        status: only documents with exactly this status.
        after: only those that follow this position.
    """
    statement = _DOCUMENTS + (_STATUS if status else "") + (_AFTER if after else "") + _NEWEST_FIRST
    filters = ((status,) if status else ()) + (after or ())
    return fetch(statement, (workspace_id, *filters, count))


def document_id(text: str) -> UUID:
    """The id in a path. A malformed id is treated like an unknown one.

    Raises:
        DocumentNotFound: the text is not a UUID.
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
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    rows = fetch(_DOCUMENTS + WITH_ID, (workspace_id, document_id(id)))
    if not rows:
        raise DocumentNotFound
    return rows[0]


def recipients_of(documents: Iterable[Row]) -> list[Row]:
    """The recipients of some documents: RECIPIENT_COLUMNS and the document's id.

    They are sorted within each document; sorting across documents would take more comparisons.
    """
    ids = ",".join(row[0] for row in documents)
    return fetch(_RECIPIENTS, (f"{{{ids}}}",))
