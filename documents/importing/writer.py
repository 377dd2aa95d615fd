"""Writes checked documents to the database and their files to the object storage.

The files of a complete document are sealed: an import never replaces or removes them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from audit.models import Action
from audit.record import record as record_entry
from audit.snapshots import DocumentSnapshot, FileSnapshot
from documents.api.parameters import FILE_TYPES
from documents.importing.files import CheckedFile, Uploads
from documents.importing.problems import Problems
from documents.importing.validation import DocumentEntry, RecipientEntry, Record
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
    if column not in ("id", "recipients", "files")
}
Recipients = dict[UUID, tuple[object, ...]]  # a document's, by their ids


class Change(Struct, frozen=True):
    """What a record changes.

    Attributes:
        document: as it is in the database, or a new one.
        was_complete: before the import.
        snapshot: of the document, for the audit log.
        happened: "created", "completed", "deleted", "restored".
        files: those that differ, by type; None for one that the document has no more.
        fields: that differ, as the API names them.
    """

    record: Record
    document: Document
    was_complete: bool
    snapshot: DocumentSnapshot
    happened: list[str]
    files: dict[str, CheckedFile | None]
    fields: list[str]


@dataclass
class Writer:
    """Writes batches of records within one transaction, which is the caller's.

    Attributes:
        by: who imports, for the audit log.
        problems: gets the documents that would lose sealed files.
        import_sha256: the digest of the imported file, for the audit log.
        created: new documents so far.
        updated: documents that existed.
        replaced: keys of objects to delete after the commit.
    """

    workspace: Workspace
    uploads: Uploads
    problems: Problems
    by: str
    import_sha256: str
    created: int = 0
    updated: int = 0
    replaced: list[str] = field(default_factory=list)

    def write(self, batch: Sequence[Record]) -> None:
        """Stores some documents, unless there are problems.

        Raises:
            StorageError: a file cannot be uploaded.
            ImportRefused: a file changed after it was checked.
            Stopped: the process was asked to end.
        """
        existing = self._existing(batch)
        recipients = _stored_recipients(existing)
        changes = [self._change(record, existing, recipients) for record in batch]
        for change in changes:
            if change.was_complete and change.files:
                fields = ", ".join(f"files.{file_type}" for file_type in change.files)
                self.problems.add(change.record.line, f"{change.record.label}, {fields}: {SEALED}")
        if self.problems.count:
            return
        gone = self._set_files(changes)
        self._save(changes, existing)
        StoredFile.objects.filter(pk__in=[file.pk for file in gone]).delete()
        self.replaced += [file.object_key for file in gone]
        self._record(changes)

    def _existing(self, batch: Sequence[Record]) -> dict[UUID, Document]:
        """The documents to update, locked against another import."""
        ids = [record.document.id for record in batch]
        documents = Document.objects.filter(workspace=self.workspace).filter(pk__in=ids)
        locked = documents.select_for_update().order_by("pk").values_list("pk", flat=True)
        # Another query, since one that waits for a lock joins the files from before its wait.
        files = Document.objects.filter(pk__in=list(locked)).select_related(*FILE_TYPES)
        return {document.pk: document for document in files}

    def _change(
        self,
        record: Record,
        existing: Mapping[UUID, Document],
        recipients: Mapping[UUID, Recipients],
    ) -> Change:
        entry, id = record.document, UUID(record.document.id)
        before = existing.get(id)
        was_complete = before is not None and before.status == COMPLETED
        was_deleted = before is not None and before.deleted_at is not None
        happened = {
            "created": before is None,
            "completed": entry.status == COMPLETED and not was_complete,
            "restored": was_deleted and entry.deleted_at is None,
            "deleted": entry.deleted_at is not None and not was_deleted,
        }
        files = {file_type: record.files.get(file_type) for file_type in FILE_TYPES}
        fields = [
            name
            for column, name in FIELDS.items()
            if before is None or getattr(before, column) != getattr(entry, column)
        ]
        if recipients[id] != _given_recipients(entry):
            fields.append("recipients")
        return Change(
            record,
            before or Document(id=id, workspace=self.workspace),
            was_complete,
            before.snapshot()
            if before and was_complete
            else DocumentSnapshot(document_id=id, document_title=entry.title),
            [word for word, is_so in happened.items() if is_so],
            {
                file_type: file
                for file_type, file in files.items()
                if _sha256(file) != _sha256(getattr(before, file_type, None))
            },
            fields,
        )

    def _set_files(self, changes: Sequence[Change]) -> list[StoredFile]:
        """Gives the documents the files that differ; returns those that they had before."""
        gone, given = [], []
        for change in changes:
            for file_type, file in change.files.items():
                if getattr(change.document, f"{file_type}_id"):
                    gone.append(getattr(change.document, file_type))
                setattr(change.document, file_type, None)
                if file is not None:
                    given.append((change.document, file_type, file))
        keys = self.uploads.upload([file for _, _, file in given])
        rows = []
        for key, (document, file_type, file) in zip(keys, given, strict=True):
            row = StoredFile(object_key=key, size=file.size, sha256=file.sha256)
            setattr(document, file_type, row)
            rows.append(row)
        StoredFile.objects.bulk_create(rows)
        return gone

    def _save(self, changes: Sequence[Change], existing: Mapping[UUID, Document]) -> None:
        for change in changes:
            for column in FIELDS:
                setattr(change.document, column, getattr(change.record.document, column))
        # Only locked documents may be overwritten. If another workspace has meanwhile created a
        # document with the id of a new one, the database refuses the row.
        new = [change.document for change in changes if change.document.pk not in existing]
        Document.objects.bulk_create(new)
        Document.objects.bulk_create(
            existing.values(),
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=[*FIELDS, *FILE_TYPES],
        )
        self.created += len(new)
        self.updated += len(existing)
        changed = [change for change in changes if "recipients" in change.fields]
        Recipient.objects.filter(document__in=[change.document for change in changed]).delete()
        Recipient.objects.bulk_create(
            Recipient(document=change.document, **msgspec.structs.asdict(recipient))
            for change in changed
            for recipient in change.record.document.recipients
        )

    def _record(self, changes: Sequence[Change]) -> None:
        """Adds the changes to the audit log."""
        workspace = self.workspace.snapshot()
        for change in changes:
            who: Any = {"by": self.by, "workspace": workspace, "document": change.snapshot}
            changed = change.was_complete and change.fields
            if change.happened or change.files or changed:
                happened = ", ".join(change.happened or ["changed"])
                detail = f"{happened}; import file: SHA-256 {self.import_sha256}"
                record_entry(Action.DOCUMENT_IMPORTED, **who, detail=detail)
            for file_type, file in change.files.items():
                if file:
                    stored = FileSnapshot(file_type=file_type, file_sha256=file.sha256)
                    record_entry(Action.FILE_IMPORTED, **who, file=stored)
            if changed:
                fields = ", ".join(change.fields)
                record_entry(Action.DOCUMENT_CHANGED, **who, detail=fields)


def _sha256(file: CheckedFile | StoredFile | None) -> str:
    return file.sha256 if file else ""


def _stored_recipients(documents: Iterable[UUID]) -> Mapping[UUID, Recipients]:
    """The recipients that some documents have in the database."""
    found: defaultdict[UUID, Recipients] = defaultdict(dict)
    columns = RecipientEntry.__struct_fields__
    rows = Recipient.objects.filter(document__in=documents).values_list("document_id", *columns)
    for document, *row in rows:
        found[document][row[0]] = tuple(row[1:])
    return found


def _given_recipients(entry: DocumentEntry) -> Recipients:
    """The recipients that the imported document has."""
    return {UUID(each.id): msgspec.structs.astuple(each)[1:] for each in entry.recipients}
