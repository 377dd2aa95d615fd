"""Writes checked documents to the database.

The files of a complete document are sealed: an import never replaces or removes them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from audit.models import Action
from audit.record import record as record_entry
from audit.snapshots import FileSnapshot
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.importing.entries import DocumentEntry, RecipientEntry
from documents.importing.files import CheckedFile
from documents.importing.problems import Problems
from documents.models import Document, Recipient, StoredFile
from workspaces.models import Workspace

COMPLETED = Document.Status.COMPLETED
SEALED = "the files of a complete document are sealed; an import does not replace or remove them"
# The columns of a document, with the names of their fields in the API.
FIELDS = {
    column: name
    for column, name in zip(
        DocumentEntry.__struct_fields__, DocumentEntry.__struct_encode_fields__, strict=True
    )
    if column not in ("id", "recipients", "files", "progress", "links")
}
Recipients = dict[UUID, tuple[object, ...]]  # a document's, by their ids


@dataclass
class Record:
    """A document of the file that can be stored.

    Attributes:
        files: that the line names, by type.
        document: as it is in the database, or a new one.
        was_complete: before the import.
        happened: "created", "completed", "deleted", "restored".
        fields: that differ from the database, as the API names them.
        new_files: that differ; None for one that the document has no more.
    """

    line: int
    entry: DocumentEntry
    files: dict[str, CheckedFile]

    def compare(self, document: Document, recipients: Recipients) -> None:
        """Compares it with its document and the recipients that this has."""
        entry, self.document = self.entry, document
        self.was_complete = document.status == COMPLETED
        happened = {
            "created": document._state.adding,
            "completed": entry.status == COMPLETED and not self.was_complete,
            "restored": document.deleted_at and not entry.deleted_at,
            "deleted": entry.deleted_at and not document.deleted_at,
        }
        self.happened = [word for word, is_so in happened.items() if is_so]
        self.fields = [
            name
            for column, name in FIELDS.items()
            if getattr(document, column) != getattr(entry, column)
        ]
        given = {each.id: msgspec.structs.astuple(each)[1:] for each in entry.recipients}
        if recipients != given:
            self.fields.append("recipients")
        self.new_files = {
            file_type: self.files.get(file_type)
            for file_type in FILE_TYPES
            if getattr(self.files.get(file_type), "sha256", "")
            != getattr(getattr(document, file_type, None), "sha256", "")
        }


@dataclass
class Writer:
    """Writes batches of records within one transaction, which is the caller's.

    Attributes:
        by: who imports, for the audit log.
        problems: gets ids that belong to something else, and documents that would lose sealed
            files.
        import_sha256: the digest of the imported file, for the audit log.
        created: new documents so far.
        updated: documents that existed.
        uploads: the files of the new objects that the caller must upload, by their keys.
        replaced: keys of objects to delete after the commit.
    """

    workspace: Workspace
    problems: Problems
    by: str
    import_sha256: str
    created: int = 0
    updated: int = 0
    uploads: dict[str, CheckedFile] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)

    def write(self, batch: Sequence[Record]) -> None:
        """Stores some documents, unless there are problems."""
        self._check_ids(batch)
        existing = self._existing(batch)
        recipients = _stored_recipients(existing)
        for record in batch:
            id = record.entry.id
            document = existing.get(id) or Document(id=id, workspace=self.workspace)
            record.compare(document, recipients[id])
            if record.was_complete and record.new_files:
                fields = ", ".join(f"files.{file_type}" for file_type in record.new_files)
                self.problems.append((record.line, f"{fields}: {SEALED}"))
        if self.problems:
            return
        gone = self._set_files(batch)
        self._save(batch, existing)
        StoredFile.objects.filter(pk__in=[file.pk for file in gone]).delete()
        self.replaced += [file.object_key for file in gone]
        self._record(batch)

    def _check_ids(self, batch: Sequence[Record]) -> None:
        """Finds ids of documents of other workspaces, and of recipients of other documents."""
        lines = {record.entry.id: record.line for record in batch}
        foreign = Document.objects.filter(pk__in=lines).exclude(workspace=self.workspace)
        for id in foreign.values_list("pk", flat=True):
            self.problems.append((lines[id], f"id: {id} belongs to another workspace"))
        owners = {each.id: record for record in batch for each in record.entry.recipients}
        stored = Recipient.objects.filter(pk__in=owners).values_list("pk", "document_id")
        for id, document_id in stored:
            record = owners[id]
            if document_id != record.entry.id:
                number = [each.id for each in record.entry.recipients].index(id)
                text = f"recipients[{number}].id: {id} belongs to a recipient of another document"
                self.problems.append((record.line, text))

    def _existing(self, batch: Sequence[Record]) -> dict[UUID, Document]:
        """The documents to update, locked against another import."""
        ids = [record.entry.id for record in batch]
        documents = Document.objects.filter(workspace=self.workspace).filter(pk__in=ids)
        locked = documents.select_for_update().order_by("pk").values_list("pk", flat=True)
        # Another query, since one that waits for a lock joins the files from before its wait.
        files = Document.objects.filter(pk__in=list(locked)).select_related(*FILE_TYPES)
        return {document.pk: document for document in files}

    def _set_files(self, batch: Sequence[Record]) -> list[StoredFile]:
        """Gives the documents the files that differ; returns those that they had before."""
        gone, rows = [], []
        for record in batch:
            for file_type, file in record.new_files.items():
                if getattr(record.document, f"{file_type}_id"):
                    gone.append(getattr(record.document, file_type))
                row = None
                if file:
                    key = storage.new_key()
                    row = StoredFile(object_key=key, size=file.size, sha256=file.sha256)
                    rows.append(row)
                    self.uploads[key] = file
                setattr(record.document, file_type, row)
        StoredFile.objects.bulk_create(rows)
        return gone

    def _save(self, batch: Sequence[Record], existing: Mapping[UUID, Document]) -> None:
        for record in batch:
            for column in FIELDS:
                setattr(record.document, column, getattr(record.entry, column))
        # If another workspace has meanwhile created a document with the id of a new one, the
        # database refuses the row.
        new = [record.document for record in batch if record.document.pk not in existing]
        Document.objects.bulk_create(new)
        Document.objects.bulk_update(existing.values(), [*FIELDS, *FILE_TYPES])
        self.created += len(new)
        self.updated += len(existing)
        changed = [record for record in batch if "recipients" in record.fields]
        Recipient.objects.filter(document__in=[record.document for record in changed]).delete()
        Recipient.objects.bulk_create(
            Recipient(document=record.document, **msgspec.structs.asdict(recipient))
            for record in changed
            for recipient in record.entry.recipients
        )

    def _record(self, batch: Sequence[Record]) -> None:
        """Adds the changes to the audit log."""
        workspace = self.workspace.snapshot()
        for record in batch:
            document = record.document.snapshot()
            who: Any = {"by": self.by, "workspace": workspace, "document": document}
            changed = record.was_complete and record.fields
            if record.happened or record.new_files or changed:
                happened = ", ".join(record.happened or ["changed"])
                detail = f"{happened}; import file: SHA-256 {self.import_sha256}"
                record_entry(Action.DOCUMENT_IMPORTED, **who, detail=detail)
            for file_type, file in record.new_files.items():
                if file:
                    stored = FileSnapshot(file_type=file_type, file_sha256=file.sha256)
                    record_entry(Action.FILE_IMPORTED, **who, file=stored)
            if changed:
                record_entry(Action.DOCUMENT_CHANGED, **who, detail=", ".join(record.fields))


def _stored_recipients(documents: Iterable[UUID]) -> Mapping[UUID, Recipients]:
    """The recipients that some documents have in the database."""
    found: defaultdict[UUID, Recipients] = defaultdict(dict)
    columns = RecipientEntry.__struct_fields__
    rows = Recipient.objects.filter(document__in=documents).values_list("document_id", *columns)
    for document, *row in rows:
        found[document][row[0]] = tuple(row[1:])
    return found
