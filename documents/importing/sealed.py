"""What an import changes of complete documents, for the audit log.

The files of a complete document are sealed: an import replaces or removes them only with an option.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

import msgspec
from msgspec import Struct

from audit import record as audit
from audit.record import DocumentSnapshot, WorkspaceSnapshot
from documents.api.parameters import FILE_TYPES
from documents.importing.validation import DocumentEntry, RecipientEntry, Record
from documents.models import Document, Recipient

OPTION = "--replace-sealed-files"
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
    """A sealed file that is replaced, or removed."""

    file_type: str
    before: str  # SHA-256
    after: str  # SHA-256; "" if it is removed


class Change(Struct, frozen=True):
    """What a record changes of a document that is complete."""

    record: Record
    document: DocumentSnapshot  # before the change
    files: list[Replacement]
    fields: list[str]  # as the API names them


def problem(label: str, file_types: Iterable[str]) -> str:
    """What is wrong with a record that replaces or removes sealed files without the option."""
    fields = ", ".join(f"files.{file_type}" for file_type in file_types)
    return (
        f"{label}, {fields}: the files of a complete document are sealed; "
        f"{OPTION} replaces or removes them"
    )


def find_changes(
    existing: Mapping[UUID, Document],
    recipients: Mapping[UUID, Recipients],
    batch: Sequence[Record],
) -> list[Change]:
    """What the records change of those documents that are complete, before they are changed."""
    changes = []
    for record in batch:
        document = existing.get(UUID(record.document.id))
        if document is None or document.status != Document.Status.COMPLETED:
            continue
        files = list(_replacements(document, record))
        fields = list(_changed_fields(document, recipients[document.pk], record.document))
        if files or fields:
            changes.append(Change(record, document.snapshot(), files, fields))
    return changes


def record_changes(changes: Sequence[Change], workspace: WorkspaceSnapshot, by: str) -> None:
    """Adds the changes to the audit log."""
    for change in changes:
        for file in change.files:
            audit.file_replaced(
                workspace=workspace,
                document=change.document,
                file_type=file.file_type,
                before=file.before,
                after=file.after,
                person=by,
            )
        if change.fields:
            audit.document_changed(
                workspace=workspace, document=change.document, fields=change.fields, person=by
            )


def _replacements(document: Document, record: Record) -> Iterator[Replacement]:
    for file_type in FILE_TYPES:
        file = record.files.get(file_type)
        before, after = getattr(document, file_type).sha256, file.sha256 if file else ""
        if before != after:
            yield Replacement(file_type, before, after)


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
