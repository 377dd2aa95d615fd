"""The API's queries for documents and recipients: prepared statements that return plain rows.

Every statement has the same condition: the key's workspace, and no deleted document.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.connections import fetch
from documents.api.objects import (
    DOCUMENT_COLUMNS,
    RECIPIENT_COLUMNS,
    Recipient,
    WorkspaceDocument,
    document,
)


class Position(NamedTuple):
    """A document's position in an order by one of its times; in the list, by its creation."""

    time: datetime
    id: UUID


def columns(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; ids as text, as in JSON."""
    return ", ".join(f'{table}."{n}"{"::text" if n.endswith("id") else ""}' for n in names)


_OWN = len(DOCUMENT_COLUMNS)
DOCUMENT_COLUMNS_SQL = columns("document", DOCUMENT_COLUMNS)
# What a key can see, in every statement of the API. Its value is the key's workspace.
VISIBLE = "document.workspace_id = %s AND document.deleted_at IS NULL"
# With a workspace that the planner does not know: for one that has most documents of all, it would
# take the index of all workspaces, and might read the documents of others first.
VISIBLE_UNKNOWN = VISIBLE.replace("%s", "(SELECT %(workspace)s::uuid)")
_STATUS = " AND document.status = %s"
_AFTER = " AND (document.created_at, document.id) < (%s, %s)"
# `id` alone would be the selected text, which has no index.
_PAGE = " ORDER BY document.created_at DESC, document.id DESC LIMIT %s"
_RECIPIENT_COLUMNS = columns("recipient", RECIPIENT_COLUMNS)
_RECIPIENTS = f"""
    SELECT recipient.document_id::text, {_RECIPIENT_COLUMNS}
    FROM "documents_recipient" AS recipient
    WHERE recipient.document_id = ANY(%s) ORDER BY recipient."order", recipient.id
"""
# One statement with a join instead of two: 10 % less for one document.
_ONE = f"""
    SELECT {DOCUMENT_COLUMNS_SQL}, {_RECIPIENT_COLUMNS} FROM "documents_document" AS document
    LEFT JOIN "documents_recipient" AS recipient ON recipient.document_id = document.id
    WHERE {VISIBLE} AND document.id = %s ORDER BY recipient."order", recipient.id
"""


@dataclass(frozen=True)
class WorkspaceDocuments:
    """The documents of one workspace that are not deleted."""

    workspace_id: UUID

    def newest(
        self, status: str | None, after: Position | None, limit: int
    ) -> tuple[list[WorkspaceDocument], Position | None]:
        """The newest documents, and the position of the last one if others follow it."""
        condition = (_STATUS if status else "") + (_AFTER if after else "") + _PAGE
        values = ((status,) if status else ()) + (after or ()) + (limit + 1,)
        found = fetch(_documents(condition), (self.workspace_id, *values))
        page = with_recipients(found[:limit])
        more = len(found) > limit
        position = Position(page[-1].created_at, UUID(page[-1].id)) if more else None
        return page, position

    def one(self, id: str) -> WorkspaceDocument:
        """The document with this id; DocumentNotFound also if it is malformed or deleted."""
        rows = fetch(_ONE, (self.workspace_id, document_id(id)))
        if not rows:
            raise DocumentNotFound
        own, columns = rows[0][:_OWN], [row[_OWN:] for row in rows]
        return document(own, [Recipient(*each) for each in columns if each[0]])


def document_id(text: str) -> UUID:
    """The id in a path; DocumentNotFound if it is malformed, as for one that is unknown."""
    try:
        id = UUID(text)
    except ValueError:
        raise DocumentNotFound from None
    if str(id) != text.lower():  # UUID() also reads other forms
        raise DocumentNotFound
    return id


def with_recipients(rows: Sequence[Sequence[Any]]) -> list[WorkspaceDocument]:
    """The documents of rows with DOCUMENT_COLUMNS, whole."""
    recipients: dict[str, list[Recipient]] = {row[0]: [] for row in rows}
    ids = f"{{{','.join(recipients)}}}"  # psycopg would need as long as the rest to write a list
    for document_id, *columns in fetch(_RECIPIENTS, (ids,)) if rows else ():
        recipients[document_id].append(Recipient(*columns))
    return [document(row, recipients[row[0]]) for row in rows]


@cache
def _documents(condition: str) -> str:
    return f"""
        SELECT {DOCUMENT_COLUMNS_SQL} FROM "documents_document" AS document
        WHERE {VISIBLE}{condition}
    """  # noqa: S608 - made of constants
