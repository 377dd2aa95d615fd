"""Which file of a document a download is of, and the file's headers."""

import base64
from dataclasses import dataclass

from django.utils.http import http_date

from config.api.active_key import ActiveKey
from config.api.errors import DocumentNotComplete, DocumentNotFound
from config.api.responses import REVALIDATED
from documents.api.documents import document_id
from documents.api.parameters import FILE_TYPES
from documents.download.filenames import content_disposition
from documents.models import Document, StoredFile


@dataclass(frozen=True)
class Download:
    """One file of a document, requested with one key."""

    document: Document
    file_type: str
    file: StoredFile
    key: ActiveKey

    @classmethod
    def choose(cls, id: str, requested: str | None, key: ActiveKey) -> "Download":
        """The file of the requested type, or of the default for the document's status.

        Raises DocumentNotFound, or DocumentNotComplete for `signed` or `certificate` before the
        end.
        """
        # As `VISIBLE` in documents/api/documents.py.
        documents = Document.objects.filter(workspace=key.workspace_id, deleted_at=None)
        document = documents.select_related(*FILE_TYPES).filter(id=document_id(id)).first()
        if not document:
            raise DocumentNotFound
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
