"""The query of a download: one document with its stored files."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from config.api.errors import DocumentNotFound
from config.api.request import Reading
from config.runtime.database import Row
from documents.api.queries import JOIN, columns


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


FILES = Reading(
    ", ".join(
        (
            "document.id, document.title, document.status, document.file_name",
            columns("original", FileRow._fields),
            columns("signed", FileRow._fields),
            columns("certificate", FileRow._fields),
        )
    ),
    f"""{JOIN}
    LEFT JOIN "documents_storedfile" AS original ON original.id = document.original_id
    LEFT JOIN "documents_storedfile" AS signed ON signed.id = document.signed_id
    LEFT JOIN "documents_storedfile" AS certificate ON certificate.id = document.certificate_id
    """,
)


def with_files(rows: list[Row]) -> DocumentFiles:
    """The document in the rows of `FILES`.

    Raises:
        DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
    """
    if not rows:
        raise DocumentNotFound
    [row] = rows
    files = (FileRow._make(row[start : start + 4]) for start in (4, 8, 12))
    return DocumentFiles(*row[:4], *files)
