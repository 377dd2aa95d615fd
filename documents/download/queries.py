"""The query of a download: one document with its stored files."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.database import fetch
from documents.api.queries import VISIBLE, WITH_ID, columns, document_id


class FileRow(NamedTuple):
    """A stored file; all fields are None if the document has no file of this type."""

    object_key: str
    size: int  # bytes
    sha256: str  # hex digits
    created_at: datetime


class DocumentFiles(NamedTuple):
    """A document with its files. One that is COMPLETED has all three (a database constraint)."""

    id: UUID
    title: str
    status: str
    file_name: str
    original: FileRow
    signed: FileRow
    certificate: FileRow


_FILES = f"""
    SELECT document.id, document.title, document.status, document.file_name,
        {columns("original", FileRow._fields)},
        {columns("signed", FileRow._fields)},
        {columns("certificate", FileRow._fields)}
    FROM "documents_document" AS document
    LEFT JOIN "documents_storedfile" AS original ON original.id = document.original_id
    LEFT JOIN "documents_storedfile" AS signed ON signed.id = document.signed_id
    LEFT JOIN "documents_storedfile" AS certificate ON certificate.id = document.certificate_id
    WHERE {VISIBLE} {WITH_ID}
"""


def files_of(workspace_id: UUID, id: str) -> DocumentFiles:
    """One document with its files.

    Raises:
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    rows = fetch(_FILES, (workspace_id, document_id(id)))
    if not rows:
        raise DocumentNotFound
    row = rows[0]
    files = (FileRow._make(row[start : start + 4]) for start in (4, 8, 12))
    return DocumentFiles(*row[:4], *files)
