"""Writes checked documents to the database and their files to the object storage."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from uuid import UUID

import msgspec

from config.management.shutdown import Shutdown
from documents.api.parameters import FILE_TYPES
from documents.importing.files import CheckedFile
from documents.importing.problems import ImportRefused
from documents.importing.sealed import (
    COMPLETED,
    FIELDS,
    Change,
    Recipients,
    find_changes,
    given_recipients,
    problem,
    record_changes,
    stored_recipients,
)
from documents.importing.uploads import Uploads
from documents.importing.validation import Record
from documents.models import Document, Recipient, StoredFile
from workspaces.models import Workspace


class Writer:
    """Writes batches of records within one transaction, which is the caller's.

    Args:
        by: who imports, for the audit log.
        import_sha256: the digest of the imported file, for the audit log.

    Attributes:
        created: new documents so far.
        updated: documents that existed.
        replaced: keys of objects to delete after the commit.
    """

    def __init__(
        self,
        workspace: Workspace,
        uploads: Uploads,
        shutdown: Shutdown,
        *,
        by: str,
        import_sha256: str,
    ) -> None:
        self.workspace = workspace
        self.uploads = uploads
        self.shutdown = shutdown
        self.by = by
        self.import_sha256 = import_sha256
        self.created = 0
        self.updated = 0
        self.replaced: list[str] = []

    def write(self, batch: Sequence[Record]) -> None:
        """Stores some documents.

        Raises:
            StorageError: a file cannot be uploaded.
            ImportRefused: a file changed after it was checked, or a document became complete.
            Stopped: the process was asked to end.
        """
        existing = self._existing(batch)
        recipients = stored_recipients(existing)
        changes = find_changes(existing, recipients, batch)
        self._refuse_sealed(changes)
        # Sealed files are kept, even if no document has them any more.
        before = _files(each for each in existing.values() if each.status != COMPLETED)
        documents = [self._document(record, existing) for record in batch]
        self._set_files(documents, batch)
        self._save(documents, existing)
        self._save_recipients(documents, batch, recipients)
        after = _files(existing.values())
        gone = {row: key for row, key in before.items() if row not in after}
        StoredFile.objects.filter(pk__in=gone).delete()
        self.replaced += gone.values()
        record_changes(changes, self.workspace.snapshot(), self.by, self.import_sha256)

    def _existing(self, batch: Sequence[Record]) -> dict[UUID, Document]:
        """The documents to update, locked against another import."""
        ids = [record.document.id for record in batch]
        documents = Document.objects.filter(workspace=self.workspace).filter(pk__in=ids)
        locked = documents.select_for_update().order_by("pk").values_list("pk", flat=True)
        # Another query, since one that waits for a lock joins the files from before its wait.
        files = Document.objects.filter(pk__in=list(locked)).select_related(*FILE_TYPES)
        return {document.pk: document for document in files}

    def _refuse_sealed(self, changes: Sequence[Change]) -> None:
        """Refuses what `Staging.check_sealed` could not see: another import came in between."""
        for change in changes:
            if change.sealed and change.files:
                text = problem(change.record.label, [file.file_type for file in change.files])
                raise ImportRefused(f"line {change.record.line}, {text}; nothing was imported.")

    def _document(self, record: Record, existing: dict[UUID, Document]) -> Document:
        id = UUID(record.document.id)
        document = existing.get(id) or Document(id=id, workspace=self.workspace)
        for column in FIELDS:
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

    def _save_recipients(
        self,
        documents: Sequence[Document],
        batch: Sequence[Record],
        before: Mapping[UUID, Recipients],
    ) -> None:
        """Replaces the recipients of documents that have others."""
        changed = [
            (document, record.document.recipients)
            for document, record in zip(documents, batch, strict=True)
            if before[document.pk] != given_recipients(record.document)
        ]
        Recipient.objects.filter(document__in=[document for document, _ in changed]).delete()
        Recipient.objects.bulk_create(
            Recipient(document=document, **msgspec.structs.asdict(recipient))
            for document, recipients in changed
            for recipient in recipients
        )

    def _save(self, documents: Sequence[Document], existing: dict[UUID, Document]) -> None:
        # Only locked documents may be overwritten. If another workspace has meanwhile created a
        # document with the id of a new one, the database refuses the row.
        new = [document for document in documents if document.pk not in existing]
        Document.objects.bulk_create(new)
        Document.objects.bulk_create(
            existing.values(),
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=[*FIELDS, *FILE_TYPES],
        )
        self.created += len(new)
        self.updated += len(existing)


def _files(documents: Iterable[Document]) -> dict[int, str]:
    """The file rows of some documents, each with its object's key."""
    rows = [getattr(each, file_type) for each in documents for file_type in FILE_TYPES]
    return {row.pk: row.object_key for row in rows if row is not None}
