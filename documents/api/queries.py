"""The API's queries for documents and recipients: prepared statements that return plain rows.

Every statement has the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.database import Row, fetch, fetch_together
from documents.api.serializers import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS

Position = tuple[datetime, UUID]  # created_at and id: a document's position in the order


def columns(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; ids as text, as in JSON."""
    return ", ".join(f'{table}."{n}"{"::text" if n.endswith("id") else ""}' for n in names)


_DOCUMENT_COLUMNS = columns("document", DOCUMENT_COLUMNS)
_RECIPIENT_COLUMNS = columns("recipient", RECIPIENT_COLUMNS)
VISIBLE = "document.workspace_id = %s AND document.deleted_at IS NULL"
_STATUS = " AND document.status = %s"
_AFTER = " AND (document.created_at, document.id) < (%s, %s)"
# `id` alone would be the selected text, which has no index.
_ORDER = "document.created_at DESC, document.id DESC"
_PAGE = f" ORDER BY {_ORDER} LIMIT %s"
WITH_ID = " AND document.id = %s"

WithRecipients = tuple[Row, list[Row]]
"""A document's row of DOCUMENT_COLUMNS, and its recipients': RECIPIENT_COLUMNS and its id."""


_ONE = f"""
    SELECT {_DOCUMENT_COLUMNS}, {_RECIPIENT_COLUMNS}, document.id::text
    FROM "documents_document" AS document
    LEFT JOIN "documents_recipient" AS recipient ON recipient.document_id = document.id
    WHERE {VISIBLE}{WITH_ID} ORDER BY recipient."order", recipient.id
"""  # noqa: S608 - made of constants
_RECIPIENT = len(DOCUMENT_COLUMNS)  # where a recipient begins in its rows; NULL if there is none


def one(workspace_id: UUID, id: str) -> WithRecipients:
    """One document.

    Raises:
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    rows = fetch(_ONE, (workspace_id, document_id(id)))
    if not rows:
        raise DocumentNotFound
    recipients = [row[_RECIPIENT:] for row in rows if row[_RECIPIENT] is not None]
    return rows[0][:_RECIPIENT], recipients


def newest(
    workspace_id: UUID,
    status: str | None,
    after: Position | None,
    limit: int,
    read: Callable[..., list[list[Row]]] = fetch_together,
) -> list[WithRecipients]:
    """The newest documents, and one more, without its recipients, if another page follows.

    Two statements in one round trip each find the documents: a join would send each of them several
    times. If one was added or removed in between, they differ: then both are repeated.

    Args:
        status: only documents with exactly this status.
        after: only those that follow this position.
        limit: documents of the page.
        read: as `config.database.fetch_together`.
    """
    condition = (_STATUS if status else "") + (_AFTER if after else "") + _PAGE
    values = (workspace_id, *((status,) if status else ()), *(after or ()))
    while True:
        documents, recipients = read(
            (_documents(condition), (*values, limit + 1)),
            (_recipients(condition), (*values, limit)),
        )
        by_document: dict[str, list[Row]] = {}
        for row in recipients:
            of_document = by_document.setdefault(row[-1], [])
            if row[0] is not None:
                of_document.append(row)
        if [row[0] for row in documents[:limit]] == list(by_document):
            return [(row, by_document.get(row[0], [])) for row in documents]


@cache
def _documents(condition: str) -> str:
    return f"""
        SELECT {_DOCUMENT_COLUMNS} FROM "documents_document" AS document
        WHERE {VISIBLE}{condition}
    """  # noqa: S608 - made of constants


@cache
def _recipients(condition: str) -> str:
    """A row for each recipient, and one for a document that has none, in the documents' order."""
    return f"""
        SELECT {_RECIPIENT_COLUMNS}, document.id::text FROM (
            SELECT document.id, document.created_at FROM "documents_document" AS document
            WHERE {VISIBLE}{condition}
        ) AS document
        LEFT JOIN "documents_recipient" AS recipient ON recipient.document_id = document.id
        ORDER BY {_ORDER}, recipient."order", recipient.id
    """  # noqa: S608 - made of constants


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
