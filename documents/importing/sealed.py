"""What an import creates and changes, for the audit log.

The files of a complete document are sealed: an import never replaces or removes them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from audit.models import Action
from audit.record import record as record_entry
from audit.snapshots import DocumentSnapshot, FileSnapshot, WorkspaceSnapshot
from documents.api.parameters import FILE_TYPES
from documents.importing.validation import DocumentEntry, RecipientEntry, Record
from documents.models import Document, Recipient

COMPLETED = Document.Status.COMPLETED
# The columns of a document, with the names of their fields in the API.
FIELDS = {
    column: name
    for column, name in zip(
        DocumentEntry.__struct_fields__, DocumentEntry.__struct_encode_fields__, strict=True
    )
    if column not in ("id", "recipients", "files")
}
Recipients = dict[UUID, tuple[object, ...]]  # a document's, by their ids


class Replacement(Struct, frozen=True):
    """A file that a document gets, or has no more."""

    file_type: str
    sha256: str  # "" if it is removed


class Change(Struct, frozen=True):
    """What a record changes, as far as the audit log has it."""

    record: Record
    document: DocumentSnapshot
    sealed: bool  # whether the document was complete before
    happened: list[str]  # "created", "completed", "deleted", "restored" or "changed"
    files: list[Replacement]
    fields: list[str]  # of a complete document, as the API names them


def problem(label: str, file_types: Iterable[str]) -> str:
    """What is wrong with a record that replaces or removes sealed files."""
    fields = ", ".join(f"files.{file_type}" for file_type in file_types)
    return (
        f"{label}, {fields}: the files of a complete document are sealed; "
        "an import does not replace or remove them"
    )


def find_changes(
    existing: Mapping[UUID, Document],
    recipients: Mapping[UUID, Recipients],
    batch: Sequence[Record],
) -> list[Change]:
    """What the records change, before the documents are changed."""
    changes = []
    for record in batch:
        id, fields = UUID(record.document.id), list[str]()
        document = existing.get(id)
        if document and document.status == COMPLETED:
            sealed, snapshot = True, document.snapshot()
            fields += _changed_fields(document, recipients[id], record.document)
        else:
            sealed = False
            snapshot = DocumentSnapshot(document_id=id, document_title=record.document.title)
        files = list(_replacements(document, record))
        happened = list(_happened(document, record.document))
        if happened or files or fields:
            happened = happened or ["changed"]
            changes.append(Change(record, snapshot, sealed, happened, files, fields))
    return changes


def record_changes(
    changes: Sequence[Change], workspace: WorkspaceSnapshot, by: str, import_sha256: str
) -> None:
    """Adds the changes to the audit log.

    Args:
        import_sha256: that of the imported file of documents.
    """
    for change in changes:
        who: Any = {"by": by, "workspace": workspace, "document": change.document}
        detail = f"{', '.join(change.happened)}; import file: SHA-256 {import_sha256}"
        record_entry(Action.DOCUMENT_IMPORTED, **who, detail=detail)
        for each in change.files:
            if each.sha256:
                file = FileSnapshot(file_type=each.file_type, file_sha256=each.sha256)
                record_entry(Action.FILE_IMPORTED, **who, file=file)
        if change.fields:
            record_entry(Action.DOCUMENT_CHANGED, **who, detail=", ".join(change.fields))


def _happened(document: Document | None, entry: DocumentEntry) -> Iterator[str]:
    if document is None:
        yield "created"
    if entry.status == COMPLETED and (document is None or document.status != COMPLETED):
        yield "completed"
    deleted = document is not None and document.deleted_at is not None
    if deleted != (entry.deleted_at is not None):
        yield "restored" if deleted else "deleted"


def _replacements(document: Document | None, record: Record) -> Iterator[Replacement]:
    for file_type in FILE_TYPES:
        stored, file = document and getattr(document, file_type), record.files.get(file_type)
        before, after = stored.sha256 if stored else "", file.sha256 if file else ""
        if before != after:
            yield Replacement(file_type, after)


def _changed_fields(
    document: Document, recipients: Recipients, entry: DocumentEntry
) -> Iterator[str]:
    for column, name in FIELDS.items():
        if getattr(document, column) != getattr(entry, column):
            yield name
    if recipients != given_recipients(entry):
        yield "recipients"


def stored_recipients(documents: Iterable[UUID]) -> Mapping[UUID, Recipients]:
    """The recipients that some documents have in the database."""
    found: defaultdict[UUID, Recipients] = defaultdict(dict)
    columns = RecipientEntry.__struct_fields__
    rows = Recipient.objects.filter(document__in=documents).values_list("document_id", *columns)
    for document, *row in rows:
        found[document][row[0]] = tuple(row[1:])
    return found


def given_recipients(entry: DocumentEntry) -> Recipients:
    """The recipients that the imported document has."""
    return {UUID(each.id): msgspec.structs.astuple(each)[1:] for each in entry.recipients}
