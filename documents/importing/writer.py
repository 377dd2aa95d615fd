"""Writes checked documents to the database and their files to the object storage."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from uuid import UUID

import msgspec

from config.management.shutdown import Shutdown
from documents.api.parameters import FILE_TYPES
from documents.importing.files import CheckedFile
from documents.importing.uploads import Uploads
from documents.importing.validation import DocumentEntry, Record
from documents.models import Document, Recipient, StoredFile
from workspaces.models import Workspace

COLUMNS = set(DocumentEntry.__struct_fields__) - {"id", "recipients", "files"}


class Writer:
    """Writes batches of records within one transaction, which is the caller's.

    Attributes:
        created: new documents so far.
        updated: documents that existed.
        replaced: keys of objects to delete after the commit.
    """

    def __init__(self, workspace: Workspace, uploads: Uploads, shutdown: Shutdown) -> None:
        self.workspace = workspace
        self.uploads = uploads
        self.shutdown = shutdown
        self.created = 0
        self.updated = 0
        self.replaced: list[str] = []

    def write(self, batch: Sequence[Record]) -> None:
        """Stores some documents.

        Raises:
            StorageError: a file cannot be uploaded.
            ImportRefused: a file changed after it was checked.
            Stopped: the process was asked to end.
        """
        existing = self._existing(batch)
        before = _files(existing)
        documents = [self._document(record, existing) for record in batch]
        self._set_files(documents, batch)
        self._save(documents, existing)
        Recipient.objects.filter(document__in=existing).delete()
        Recipient.objects.bulk_create(
            Recipient(document=document, **msgspec.structs.asdict(recipient))
            for document, record in zip(documents, batch, strict=True)
            for recipient in record.document.recipients
        )
        after = _files(existing)
        gone = {row: key for row, key in before.items() if row not in after}
        StoredFile.objects.filter(pk__in=gone).delete()
        self.replaced += gone.values()

    def _existing(self, batch: Sequence[Record]) -> dict[UUID, Document]:
        """The documents to update, locked against another import."""
        ids = [record.document.id for record in batch]
        documents = Document.objects.filter(workspace=self.workspace).filter(pk__in=ids)
        locked = documents.select_for_update(of=("self",)).order_by("pk")
        return {document.pk: document for document in locked.select_related(*FILE_TYPES)}

    def _document(self, record: Record, existing: dict[UUID, Document]) -> Document:
        id = UUID(record.document.id)
        document = existing.get(id) or Document(id=id, workspace=self.workspace)
        for column in COLUMNS:
            setattr(document, column, getattr(record.document, column))
        return document

    def _set_files(self, documents: Sequence[Document], batch: Sequence[Record]) -> None:
        """Gives each document the files of its record; equal files are not uploaded again."""
        uploads: list[tuple[Document, str, CheckedFile, Future[str]]] = []
        for document, record in zip(documents, batch, strict=True):
            for file_type in FILE_TYPES:
                file = record.files.get(file_type)
                has = getattr(document, f"{file_type}_id") and getattr(document, file_type)
                if file is None:
                    setattr(document, file_type, None)
                elif not has or has.sha256 != file.sha256:
                    uploads.append((document, file_type, file, self.uploads.start(file)))
        rows = []
        for document, file_type, file, upload in uploads:
            self.shutdown.check()
            row = StoredFile(object_key=upload.result(), size=file.size, sha256=file.sha256)
            setattr(document, file_type, row)
            rows.append(row)
        StoredFile.objects.bulk_create(rows)

    def _save(self, documents: Sequence[Document], existing: dict[UUID, Document]) -> None:
        # Only locked documents may be overwritten. If another workspace has meanwhile created a
        # document with the id of a new one, the database refuses the row.
        new = [document for document in documents if document.pk not in existing]
        Document.objects.bulk_create(new)
        Document.objects.bulk_create(
            existing.values(),
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=[*COLUMNS, *FILE_TYPES],
        )
        self.created += len(new)
        self.updated += len(existing)


def _files(documents: Mapping[UUID, Document]) -> dict[int, str]:
    """The file rows of some documents, each with its object's key."""
    rows = [getattr(each, file_type) for each in documents.values() for file_type in FILE_TYPES]
    return {row.pk: row.object_key for row in rows if row is not None}
