"""The documents that a key can read: prepared statements that are narrowed like a QuerySet.

Documents(workspace_id).with_status("SENT").after(position).first(25)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from msgspec import Meta

from config.api.errors import DocumentNotFound
from config.connections import fetch
from documents.api import objects
from documents.api.objects import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS, Recipient, WorkspaceDocument

# What a key can see, in every statement of the API. Its value is the key's workspace.
VISIBLE = "document.workspace_id = %s AND document.deleted_at IS NULL"


def selected(table: str, names: Iterable[str]) -> str:
    """The columns as SQL; ids as text, as in JSON."""
    return ", ".join(f'{table}."{name}"{"::text" if name == "id" else ""}' for name in names)


DOCUMENT_COLUMNS_SQL = selected("document", DOCUMENT_COLUMNS)
_RECIPIENT_COLUMNS = selected("recipient", RECIPIENT_COLUMNS)
_RECIPIENTS = f"""
    SELECT recipient.document_id::text, {_RECIPIENT_COLUMNS}
    FROM "documents_recipient" AS recipient
    WHERE recipient.document_id = ANY(%s) ORDER BY recipient."order", recipient.id
"""  # noqa: S608 - made of constants


class DocumentPosition(NamedTuple):
    """A document's position in an order by one of its times; in the list, by its creation."""

    time: Annotated[datetime, Meta(tz=True)]
    id: UUID


@dataclass(frozen=True)
class Documents:
    """Documents of one workspace that are not deleted, newest first.

    Attributes:
        conditions: SQL conditions, which must all be true; the first value is the workspace.
        values: those of the other conditions.
        filters: the parameters that narrow them, name → value. A cursor is bound to them.
    """

    workspace_id: UUID
    conditions: tuple[str, ...] = (VISIBLE,)
    values: tuple[Any, ...] = ()
    filters: Mapping[str, str] = field(default_factory=dict)

    def with_status(self, status: str) -> "Documents":
        filtered = replace(self, filters={**self.filters, "status": status})
        return filtered.where("document.status = %s", status)

    def after(self, position: DocumentPosition) -> "Documents":
        return self.where("(document.created_at, document.id) < (%s, %s)", *position)

    def where(self, condition: str, *values: Any) -> "Documents":
        return replace(
            self, conditions=(*self.conditions, condition), values=(*self.values, *values)
        )

    def first(self, count: int) -> list[Sequence[Any]]:
        """The rows of the first documents, with DOCUMENT_COLUMNS."""
        # Not `ORDER BY id`: that is the selected text, and no index has its order.
        sql = f"""
            SELECT {DOCUMENT_COLUMNS_SQL} FROM "documents_document" AS document
            WHERE {" AND ".join(self.conditions)}
            ORDER BY document.created_at DESC, document.id DESC LIMIT %s
        """  # noqa: S608 - made of constants
        return fetch(sql, (self.workspace_id, *self.values, count))

    def one(self, id: str) -> WorkspaceDocument:
        """The document with this id; DocumentNotFound if there is none, or the id is malformed.

        One statement with a join instead of two: it is 10 % faster, and of one moment.
        """
        found = self.where("document.id = %s", document_id(id))
        sql = f"""
            SELECT {DOCUMENT_COLUMNS_SQL}, {_RECIPIENT_COLUMNS}
            FROM "documents_document" AS document
            LEFT JOIN "documents_recipient" AS recipient ON recipient.document_id = document.id
            WHERE {" AND ".join(found.conditions)} ORDER BY recipient."order", recipient.id
        """  # noqa: S608 - made of constants
        rows = fetch(sql, (self.workspace_id, *found.values))
        if not rows:
            raise DocumentNotFound
        # Without recipients, the LEFT JOIN has one row, with NULLs.
        end = len(DOCUMENT_COLUMNS)
        recipients = [Recipient(*row[end:]) for row in rows if row[end] is not None]
        return objects.document(rows[0][:end], recipients)


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
    """The documents of rows with DOCUMENT_COLUMNS, with their recipients.

    These are read a moment later, so they may be ahead of the document's status.
    """
    if not rows:
        return []
    recipients: dict[str, list[Recipient]] = {objects.id_of(row): [] for row in rows}
    # An array as PostgreSQL writes it. For a list, psycopg would need as long as for the rest.
    ids = "{" + ",".join(recipients) + "}"
    for of_document, *columns in fetch(_RECIPIENTS, (ids,)):
        recipients[of_document].append(Recipient(*columns))
    return [objects.document(row, recipients[objects.id_of(row)]) for row in rows]
