"""Reading documents with asyncpg."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import HTTPException

from bench.peers.fastapi.models import Document, Links, Progress, Recipient

COLUMNS = """id, title, status, file_name, page_count, file_size, signing_order,
    created_at, sent_at, completed_at, expires_at"""
PAGE = f"""
    SELECT {COLUMNS} FROM documents_document
    WHERE workspace_id = $1 AND deleted_at IS NULL {{conditions}}
    ORDER BY created_at DESC, id DESC LIMIT $2
"""  # noqa: S608 - constants
ONE = f"""
    SELECT {COLUMNS} FROM documents_document
    WHERE id = $1 AND workspace_id = $2 AND deleted_at IS NULL
"""  # noqa: S608
RECIPIENTS = """
    SELECT document_id, id, name, email, role, status, "order", sent_at, viewed_at, completed_at,
        declined_at, decline_reason
    FROM documents_recipient WHERE document_id = ANY($1::uuid[]) ORDER BY "order", id
"""
ASKED = frozenset({"SIGNER", "APPROVER"})
DONE = frozenset({"SIGNED", "APPROVED"})


def encode_cursor(created_at: datetime, document_id: UUID) -> str:
    return base64.urlsafe_b64encode(f"{created_at.isoformat()} {document_id}".encode()).decode()


def decode_cursor(cursor: str) -> tuple[datetime, UUID]:
    try:
        created_at, _, document_id = base64.urlsafe_b64decode(cursor).decode().partition(" ")
        return datetime.fromisoformat(created_at), UUID(document_id)
    except (ValueError, binascii.Error):
        raise HTTPException(400, "cursor is not valid") from None


def build(row: Any, recipients: Iterable[Recipient]) -> Document:
    people = list(recipients)
    asked = [person for person in people if person.role in ASKED]
    path = f"/api/v1/documents/{row['id']}"
    return Document(
        **row,
        progress=Progress(done=sum(p.status in DONE for p in asked), total=len(asked)),
        recipients=people,
        links=Links(self=path, download=f"{path}/download"),
    )


async def with_recipients(connection: Any, rows: Sequence[Any]) -> list[Document]:
    """Documents of rows, their recipients read in one query."""
    people: dict[UUID, list[Recipient]] = {row["id"]: [] for row in rows}
    for row in await connection.fetch(RECIPIENTS, list(people)):
        people[row["document_id"]].append(Recipient(**row))
    return [build(row, people[row["id"]]) for row in rows]


async def page(
    connection: Any, workspace: UUID, limit: int, status: str | None, cursor: str | None
) -> tuple[list[Document], str | None]:
    """A page, and the cursor of the next one."""
    values: list[Any] = [workspace, limit + 1]
    conditions = ""
    if status is not None:
        values.append(status)
        conditions += f" AND status = ${len(values)}"
    if cursor is not None:
        values += decode_cursor(cursor)
        conditions += f" AND (created_at, id) < (${len(values) - 1}, ${len(values)})"
    rows = await connection.fetch(PAGE.format(conditions=conditions), *values)
    more = len(rows) > limit
    rows = rows[:limit]
    following = encode_cursor(rows[-1]["created_at"], rows[-1]["id"]) if more else None
    return await with_recipients(connection, rows), following
