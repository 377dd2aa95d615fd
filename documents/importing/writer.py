"""Writes a batch of checked lines to the database, and their files to object storage."""

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db import connection

from audit.models import Action
from audit.record import record
from audit.snapshots import FileSnapshot
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.importing.entries import DocumentEntry, Invalid
from documents.importing.files import LocalFile, upload
from documents.models import Document, Recipient, StoredFile
from workspaces.models import Workspace

COMPLETED = Document.Status.COMPLETED
NOT_COLUMNS = ("id", "recipients", "files", "progress", "links")
COLUMNS = [column for column in DocumentEntry.__struct_fields__ if column not in NOT_COLUMNS]


class Line(NamedTuple):
    """A valid line: its number, its document with all ids, and the files of that by type."""

    number: int
    entry: DocumentEntry
    files: dict[str, LocalFile]


class Written(NamedTuple):
    """What was done: documents that are new, files, and keys of objects that are not needed now."""

    created: int
    files: int
    replaced: list[str]


def write(workspace: Workspace, batch: Sequence[Line], *, by: str, import_sha256: str) -> Written:
    """Stores the documents of some lines, within a transaction of the caller's.

    Raises:
        Invalid, IntegrityError: at least one of the lines cannot be stored.
    """
    old = _existing(workspace, batch)
    new: list[Document] = []
    files: dict[str, LocalFile] = {}  # to upload, by their keys
    rows: list[StoredFile] = []
    replaced: list[StoredFile] = []
    for line in batch:
        id = line.entry.id
        document = old.get(id) or Document(id=id, workspace=workspace)
        new += [] if id in old else [document]
        given = {kind: (getattr(document, kind, None), line.files.get(kind)) for kind in FILE_TYPES}
        differing = [kind for kind, (a, b) in given.items() if (a and a.sha256) != (b and b.sha256)]
        if differing and document.status == COMPLETED:
            raise Invalid("files: those of a complete document are sealed, and these differ")
        happened = _change(document, line.entry)
        facts: Any = {"by": by, "workspace": workspace.snapshot(), "document": document.snapshot()}
        detail = f"{happened}; import file: SHA-256 {import_sha256}"
        record(Action.DOCUMENT_IMPORTED, **facts, detail=detail)
        for kind in differing:
            before, file = given[kind]
            row = None
            if before:
                replaced.append(before)
            if file:
                key = storage.new_key()
                row = StoredFile(object_key=key, size=file.size, sha256=file.sha256)
                rows.append(row)
                files[key] = file
                stored = FileSnapshot(file_type=kind, file_sha256=file.sha256)
                record(Action.FILE_IMPORTED, **facts, file=stored)
            setattr(document, kind, row)
    try:
        upload(files)
        StoredFile.objects.bulk_create(rows)
        _save(new, list(old.values()), batch)
        StoredFile.objects.filter(pk__in=[file.pk for file in replaced]).delete()
    except BaseException:  # nothing is committed yet
        with contextlib.suppress(storage.StorageError):
            storage.delete(files)
        raise
    return Written(len(new), len(files), [file.object_key for file in replaced])


def _existing(workspace: Workspace, batch: Sequence[Line]) -> dict[UUID, Document]:
    """The documents to update, locked."""
    ids = {line.entry.id for line in batch}
    if len(ids) < len(batch):
        raise Invalid("an id is there twice")  # then each line is written by itself
    with connection.cursor() as cursor:  # it is idle while files are uploaded
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '15min'")
    documents = Document.objects.filter(workspace=workspace, pk__in=ids)
    locked = documents.select_for_update().order_by("pk").values_list("pk", flat=True)
    # Another query, since one that waits for a lock joins the files from before its wait.
    files = Document.objects.filter(pk__in=list(locked)).select_related(*FILE_TYPES)
    return {document.pk: document for document in files}


def _change(document: Document, entry: DocumentEntry) -> str:
    """Sets the document's columns; what that means, in words."""
    happened = ["created" if document._state.adding else "updated"]
    if entry.status == COMPLETED and document.status != COMPLETED:
        happened.append("completed")
    if entry.deleted_at and not document.deleted_at:
        happened.append("deleted")
    for column in COLUMNS:
        setattr(document, column, getattr(entry, column))
    return ", ".join(happened)


def _save(new: Sequence[Document], old: Sequence[Document], batch: Sequence[Line]) -> None:
    Document.objects.bulk_create(new)
    fields = [*COLUMNS, *FILE_TYPES]  # the quickest update of many rows:
    Document.objects.bulk_create(
        old, update_conflicts=True, unique_fields=["id"], update_fields=fields
    )
    Recipient.objects.filter(document__in=old).delete()
    Recipient.objects.bulk_create(
        Recipient(document_id=line.entry.id, **msgspec.structs.asdict(recipient))
        for line in batch
        for recipient in line.entry.recipients
    )
