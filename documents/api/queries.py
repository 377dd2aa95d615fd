"""The API's queries for documents and recipients: prepared statements that return plain rows.

Every statement has the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.database import Row, fetch_together
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


def newest(
    workspace_id: UUID,
    status: str | None,
    after: Position | None,
    limit: int,
    fetch: Callable[..., list[list[Row]]] = fetch_together,
) -> list[WithRecipients]:
    """The newest documents, and one more, without its recipients, if another page follows.

    Args:
        status: only documents with exactly this status.
        after: only those that follow this position.
        limit: documents of the page.
        fetch: as `config.database.fetch_together`.
    """
    condition = (_STATUS if status else "") + (_AFTER if after else "") + _PAGE
    values = (workspace_id, *((status,) if status else ()), *(after or ()))
    return _fetch(condition, values, limit, fetch)


def one(workspace_id: UUID, id: str) -> WithRecipients:
    """One document.

    Raises:
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    found = _fetch(WITH_ID, (workspace_id, document_id(id)))
    if not found:
        raise DocumentNotFound
    return found[0]


def _fetch(
    condition: str,
    values: tuple[Any, ...],
    limit: int | None = None,
    fetch: Callable[..., list[list[Row]]] = fetch_together,
) -> list[WithRecipients]:
    """Documents with their recipients, in one round trip.

    Each of the two statements finds the documents. If one was added or removed in between, they
    differ: then both are repeated.

    Args:
        limit: documents with recipients; if it is given, one more is fetched.
    """
    of_documents = values if limit is None else (*values, limit + 1)
    of_recipients = values if limit is None else (*values, limit)
    while True:
        documents, recipients = fetch(
            (_documents(condition), of_documents), (_recipients(condition), of_recipients)
        )
        by_document: dict[str, list[Row]] = {}
        for row in recipients:
            of_document = by_document.setdefault(row[-1], [])
            if row[0] is not None:
                of_document.append(row)
        if [row[0] for row in documents[:limit]] == list(by_document):
            return [(row, by_document.get(row[0], [])) for row in documents]


def _documents(condition: str) -> str:
    return f"""
        SELECT {_DOCUMENT_COLUMNS} FROM "documents_document" AS document
        WHERE {VISIBLE}{condition}
    """  # noqa: S608 - made of constants


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
