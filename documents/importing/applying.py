"""Checked documents into the database, their files into the store."""

from collections.abc import Sequence
from concurrent.futures import Future
from uuid import UUID

from config.management.shutdown import Stop
from documents.api.parameters import FILE_TYPES
from documents.importing.checking import Record
from documents.importing.files import CheckedFile
from documents.importing.uploads import Uploads
from documents.models import Document, Recipient, StoredFile
from workspaces.models import Workspace

RECIPIENTS_AT_A_TIME = 2000


class Writer:
    """Writes batches of records within one transaction, which is the caller's.

    Attributes:
        created: new documents so far.
        updated: documents that were there.
        replaced: keys of objects that no document has any more. Until the transaction is
            committed they are needed.
    """

    def __init__(self, workspace: Workspace, uploads: Uploads, stop: Stop) -> None:
        self.workspace = workspace
        self.uploads = uploads
        self.stop = stop
        self.created = 0
        self.updated = 0
        self.replaced: list[str] = []

    def write(self, batch: Sequence[Record]) -> None:
        """Stores some documents.

        Raises:
            StoreError: a file cannot be uploaded.
            ImportRefused: a file is not the one that was checked.
            Stopped: the process was asked to end.
        """
        existing = self._existing(batch)
        before = {key: _files(document) for key, document in existing.items()}
        documents = [self._document(record, existing) for record in batch]
        self._set_files(documents, batch)
        self._save(documents, existing)
        Recipient.objects.filter(document__in=existing).delete()
        Recipient.objects.bulk_create(
            (
                Recipient(document=document, **columns)
                for document, record in zip(documents, batch, strict=True)
                for columns in record.recipients
            ),
            batch_size=RECIPIENTS_AT_A_TIME,
        )
        self._drop_replaced(existing, before)

    def _existing(self, batch: Sequence[Record]) -> dict[UUID, Document]:
        """The documents that are to be updated, locked against another import."""
        ids = [record.columns["id"] for record in batch]
        documents = Document.objects.in_workspace(self.workspace).filter(pk__in=ids)
        locked = documents.select_for_update(of=("self",)).order_by("pk")
        return {document.pk: document for document in locked.select_related(*FILE_TYPES)}

    def _document(self, record: Record, existing: dict[UUID, Document]) -> Document:
        document = existing.get(record.columns["id"]) or Document(workspace=self.workspace)
        for column, value in record.columns.items():
            setattr(document, column, value)
        return document

    def _set_files(self, documents: Sequence[Document], batch: Sequence[Record]) -> None:
        """Gives each document the files of its record; one that it has already stays as it is."""
        uploads: list[tuple[Document, str, CheckedFile, Future[str]]] = []
        for document, record in zip(documents, batch, strict=True):
            for file_type in FILE_TYPES:
                file = record.files.get(file_type)
                has = getattr(document, f"{file_type}_id") and getattr(document, file_type)
                if file is None:
                    setattr(document, file_type, None)
                elif not has or has.sha256 != file.sha256:
                    uploads.append((document, file_type, file, self.uploads.start(file)))
        stored = []
        for _, _, file, upload in uploads:
            self.stop.check()
            stored.append(
                StoredFile(object_key=upload.result(), size=file.size, sha256=file.sha256)
            )
        StoredFile.objects.bulk_create(stored)
        for (document, file_type, _, _), row in zip(uploads, stored, strict=True):
            setattr(document, file_type, row)

    def _save(self, documents: Sequence[Document], existing: dict[UUID, Document]) -> None:
        # Only documents that are locked may be overwritten: of a new one whose id another
        # workspace has taken meanwhile, the database refuses the row.
        new = [document for document in documents if document.pk not in existing]
        Document.objects.bulk_create(new)
        columns = [
            field.name
            for field in Document._meta.concrete_fields
            if field.name not in ("id", "workspace")
        ]
        Document.objects.bulk_create(
            existing.values(), update_conflicts=True, unique_fields=["id"], update_fields=columns
        )
        self.created += len(new)
        self.updated += len(existing)

    def _drop_replaced(
        self, existing: dict[UUID, Document], before: dict[UUID, dict[int, str]]
    ) -> None:
        """Deletes the rows of files that were replaced, and remembers their objects."""
        gone: dict[int, str] = {}
        for key, document in existing.items():
            kept = _files(document)
            gone |= {row: name for row, name in before[key].items() if row not in kept}
        StoredFile.objects.filter(pk__in=gone).delete()
        self.replaced += gone.values()


def _files(document: Document) -> dict[int, str]:
    """The rows of a document's files, each with its object's key."""
    rows = (getattr(document, file_type) for file_type in FILE_TYPES)
    return {row.pk: row.object_key for row in rows if row is not None}
