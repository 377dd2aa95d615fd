"""Which file of a document a download is of: its type, the default, and 404 before completion."""

import base64
from dataclasses import dataclass

from django.utils.http import http_date

from config.api.errors import DocumentNotComplete
from config.api.request import ActiveKey
from config.api.responses import REVALIDATED
from documents.download.filenames import content_disposition
from documents.download.queries import DocumentFiles, FileRow
from documents.models import Document


@dataclass(frozen=True)
class Download:
    """One file of a document, requested with one key."""

    document: DocumentFiles
    file_type: str
    file: FileRow
    key: ActiveKey

    @classmethod
    def choose(cls, document: DocumentFiles, requested: str | None, key: ActiveKey) -> "Download":
        """The download of the requested type of file, or of the default for the document's status.

        Raises:
            DocumentNotComplete: `signed` or `certificate` before everyone has finished.
        """
        complete = document.status == Document.Status.COMPLETED
        file_type = requested or ("signed" if complete else "original")
        if file_type != "original" and not complete:
            raise DocumentNotComplete
        return cls(document, file_type, getattr(document, file_type), key)

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
                self.document.id, self.document.file_name, self.file_type
            ),
            "Content-Type": "application/pdf",
            "ETag": self.etag,
            "Last-Modified": http_date(self.file.created_at.timestamp()),
            "Repr-Digest": f"sha-256=:{digest}:",  # RFC 9530: of the whole file, also with a part
            "X-Content-Type-Options": "nosniff",
            **REVALIDATED,
        }
