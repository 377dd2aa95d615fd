"""The API's queries for documents and recipients: prepared statements that return plain rows.

Every statement has the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cache
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.api.request import Reading
from config.runtime.database import Row, fetch
from documents.api.serializers import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS

Position = tuple[datetime, UUID]  # created_at and id: a document's position in the order


def columns(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; ids as text, as in JSON."""
    return ", ".join(f'{table}."{n}"{"::text" if n.endswith("id") else ""}' for n in names)


DOCUMENT_COLUMNS_SQL = columns("document", DOCUMENT_COLUMNS)
_RECIPIENT_COLUMNS = columns("recipient", RECIPIENT_COLUMNS)
VISIBLE = "document.workspace_id = {workspace} AND document.deleted_at IS NULL"
_VISIBLE = VISIBLE.format(workspace="%s")
_STATUS = " AND document.status = %s"
_AFTER = " AND (document.created_at, document.id) < (%s, %s)"
# `id` alone would be the selected text, which has no index.
_ORDER = "document.created_at DESC, document.id DESC"
_PAGE = f" ORDER BY {_ORDER} LIMIT %s"
_RECIPIENTS_ORDER = 'recipient."order", recipient.id'
# Joins one document to the workspace of the key.
JOIN = f"""
    LEFT JOIN "documents_document" AS document
        ON {VISIBLE.format(workspace="workspace.id")} AND document.id = %s
"""

WithRecipients = tuple[Row, list[Row]]
"""A document's row of DOCUMENT_COLUMNS, and its recipients': RECIPIENT_COLUMNS and its id."""


ONE = Reading(
    f"{DOCUMENT_COLUMNS_SQL}, {_RECIPIENT_COLUMNS}, document.id::text",
    f'{JOIN} LEFT JOIN "documents_recipient" AS recipient ON recipient.document_id = document.id',
    _RECIPIENTS_ORDER,
)
_RECIPIENT = len(DOCUMENT_COLUMNS)  # where a recipient begins in its rows; NULL if there is none


def with_id(text: str, reading: Reading) -> Reading | None:
    """A reading, which begins with `JOIN`, of the document with the id in a path.

    None if the id is malformed, which is treated like an unknown one.
    """
    try:
        id = UUID(text)
    except ValueError:
        return None
    return reading._replace(parameters=(id,)) if str(id) == text.lower() else None


def with_recipients(rows: list[Row]) -> WithRecipients:
    """The document in the rows of `ONE`.

    Raises:
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    if not rows:
        raise DocumentNotFound
    recipients = [row[_RECIPIENT:] for row in rows if row[_RECIPIENT] is not None]
    return rows[0][:_RECIPIENT], recipients


_RECIPIENTS = f"""
    SELECT {_RECIPIENT_COLUMNS}, recipient.document_id::text FROM "documents_recipient" AS recipient
    WHERE recipient.document_id = ANY(%s) ORDER BY {_RECIPIENTS_ORDER}
"""


def newest(
    workspace_id: UUID, status: str | None, after: Position | None, limit: int
) -> list[WithRecipients]:
    """The newest documents, and one more, without its recipients, if another page follows.

    Args:
        status: only documents with exactly this status.
        after: only those that follow this position.
        limit: documents of the page.
    """
    condition = (_STATUS if status else "") + (_AFTER if after else "") + _PAGE
    values = (workspace_id, *((status,) if status else ()), *(after or ()))
    documents = fetch(_documents(condition), (*values, limit + 1))
    page = with_their_recipients(documents[:limit])
    return [*page, *((row, []) for row in documents[limit:])]


def with_their_recipients(documents: list[Row]) -> list[WithRecipients]:
    """Rows of DOCUMENT_COLUMNS, each with its recipients."""
    of_document: dict[str, list[Row]] = {row[0]: [] for row in documents}
    for row in fetch(_RECIPIENTS, (f"{{{','.join(of_document)}}}",)) if of_document else ():
        of_document[row[-1]].append(row)
    return [(row, of_document[row[0]]) for row in documents]


@cache
def _documents(condition: str) -> str:
    return f"""
        SELECT {DOCUMENT_COLUMNS_SQL} FROM "documents_document" AS document
        WHERE {_VISIBLE}{condition}
    """  # noqa: S608 - made of constants
