"""The files of a document: the query, which of them a download is of, and their headers."""

import base64
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.utils.http import http_date

from config.api.errors import DocumentNotComplete, DocumentNotFound
from config.api.request import ActiveKey, Reading
from config.api.responses import REVALIDATED
from config.runtime.database import Row
from documents.api.parameters import FILE_TYPES
from documents.api.queries import JOIN, columns
from documents.download.filenames import content_disposition
from documents.models import Document


class FileRow(NamedTuple):
    """A stored file; all fields are None if the document has no file of this type."""

    object_key: str
    size: int  # bytes
    sha256: str  # hex digits
    created_at: datetime


# One document, and its files in the order of FILE_TYPES.
FILES = Reading(
    ", ".join(
        [
            "document.id, document.title, document.status, document.file_name",
            *(columns(file_type, FileRow._fields) for file_type in FILE_TYPES),
        ]
    ),
    JOIN
    + "".join(
        f' LEFT JOIN "documents_storedfile" AS {each} ON {each}.id = document.{each}_id'
        for each in FILE_TYPES
    ),
)
_DOCUMENT_COLUMNS = 4


@dataclass(frozen=True)
class Download:
    """One file of a document, requested with one key."""

    document_id: UUID
    title: str
    file_name: str
    file_type: str
    file: FileRow
    key: ActiveKey

    @classmethod
    def choose(cls, rows: list[Row], requested: str | None, key: ActiveKey) -> "Download":
        """The file of the requested type, or of the default for the document's status.

        Args:
            rows: of `FILES`.

        Raises:
            DocumentNotFound: the id is unknown, malformed, deleted, or another workspace's.
            DocumentNotComplete: `signed` or `certificate` before everyone has finished.
        """
        if not rows:
            raise DocumentNotFound
        [(id, title, status, file_name, *_)] = rows
        complete = status == Document.Status.COMPLETED
        file_type = requested or ("signed" if complete else "original")
        if file_type != "original" and not complete:
            raise DocumentNotComplete
        start = _DOCUMENT_COLUMNS + len(FileRow._fields) * FILE_TYPES.index(file_type)
        file = FileRow._make(rows[0][start : start + len(FileRow._fields)])
        return cls(id, title, file_name, file_type, file, key)

    @property
    def etag(self) -> str:
        """The file's strong tag: its digest, since its bytes never change."""
        return f'"{self.file.sha256}"'

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each response about this file, whole or in part."""
        digest = base64.b64encode(bytes.fromhex(self.file.sha256)).decode()
        return {
            "Accept-Ranges": "bytes",
            "Content-Disposition": content_disposition(
                self.document_id, self.file_name, self.file_type
            ),
            "Content-Type": "application/pdf",
            "ETag": self.etag,
            "Last-Modified": http_date(self.file.created_at.timestamp()),
            "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530: of the whole file, also with a part
            "X-Content-Type-Options": "nosniff",
            **REVALIDATED,
        }
