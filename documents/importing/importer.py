"""An import from beginning to end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from django.core.management.base import CommandError
from django.db import DataError, IntegrityError, connection, transaction
from msgspec.structs import asdict

from audit.models import Action
from audit.record import record, together
from audit.snapshots import FileSnapshot
from config.logs import redact
from config.management.progress import Report
from config.management.shutdown import Shutdown, graceful_shutdown
from config.request_context import actor
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.importing.entries import DocumentEntry, Invalid, read
from documents.importing.files import LocalFile, count_pages, local_file
from documents.models import Document, Recipient, StoredFile
from documents.s3 import client
from workspaces.models import Workspace

BATCH = 200  # documents that are written in one transaction
UPLOADS = 8  # at a time; the client's connection pool holds more
SHOWN = 500  # characters of a problem
NOT_COLUMNS = {"id", "recipients", "files", "progress", "links"}
COLUMNS = [field for field in DocumentEntry.__struct_fields__ if field not in NOT_COLUMNS]


class ImportRefused(CommandError):
    """Lines were refused, and with `strict` nothing was imported."""


class Line(NamedTuple):
    """A valid line: its number, its document with the id of that, and the files by type."""

    number: int
    id: UUID
    entry: DocumentEntry
    files: dict[str, LocalFile]


class Importer:
    """Imports documents into a workspace.

    Args:
        folder: of the PDFs.
        report: called with a line for each refused line, each note, and each full batch.

    Attributes:
        counts: the documents that were created and updated, the files that were uploaded, and the
            lines that were refused.
    """

    def __init__(self, workspace: Workspace, folder: Path, report: Report) -> None:
        self.workspace, self.folder, self.report = workspace, folder.resolve(), report
        self.counts = dict.fromkeys(("created", "updated", "files", "refused"), 0)

    def run(self, content: Iterable[bytes], *, strict: bool = False) -> None:
        """Imports lines; with `strict`, all or none.

        Raises:
            ImportRefused: a line was refused, with `strict`.
            StorageError, django.db.Error, OSError: what it needs cannot be used. The batches before
                that are imported, and importing the file again imports the others.
            Stopped: a signal asked the process to end, between two lines.
        """
        with graceful_shutdown() as shutdown, transaction.atomic() if strict else nullcontext():
            lines = self._lines(content, shutdown)
            if strict:  # all are read before any is written
                lines = iter(list(lines))
            while not (strict and self.counts["refused"]) and (batch := list(islice(lines, BATCH))):
                self._write(batch)
                if len(batch) == BATCH:
                    self.report(f"line {batch[-1].number:,} …")
            if strict and (refused := self.counts["refused"]):
                raise ImportRefused(f"Refused lines: {refused:,}. Nothing was imported.")

    def _lines(self, content: Iterable[bytes], shutdown: Shutdown) -> Iterator[Line]:
        """The valid lines; the others are refused."""
        for number, line in enumerate(content, 1):
            shutdown.check()
            try:
                if text := line.removeprefix(b"\xef\xbb\xbf").strip():
                    yield self._line(number, text)
            except Invalid as exc:
                self._refuse(number, exc)

    def _line(self, number: int, text: bytes) -> Line:
        entry = read(text)
        id = entry.id or uuid5(self.workspace.pk, text.decode())  # the same one each time
        for index, recipient in enumerate(entry.recipients):
            recipient.id = recipient.id or uuid5(id, str(index))
        files = {str(kind): local_file(self.folder, n) for kind, n in entry.files.items() if n}
        entry.file_size = files["original"].size
        pages = count_pages(files["original"].path)
        if isinstance(pages, int):
            entry.page_count = pages
        elif entry.page_count:
            self.report(f"line {number}, note: pageCount is used, the PDF's is unknown: {pages}")
        else:
            raise Invalid(f"pageCount is required, since the PDF's is unknown: {pages}")
        return Line(number, id, entry, files)

    def _refuse(self, number: int, problem: Exception) -> None:
        self.counts["refused"] += 1
        text = "".join(c if c.isprintable() else " " for c in redact(str(problem))[:SHOWN])
        self.report(f"line {number}, {text}")

    def _write(self, batch: Sequence[Line]) -> None:
        """Writes lines in one transaction, or each in its own if one of them is refused."""
        try:
            with transaction.atomic(), together():
                self._store(batch)
        except (IntegrityError, DataError, Invalid) as exc:
            if len(batch) == 1:
                self._refuse(batch[0].number, exc)
            else:
                for line in batch:
                    self._write([line])

    def _store(self, batch: Sequence[Line]) -> None:
        lines = {line.id: line for line in batch}
        if len(lines) < len(batch):
            raise Invalid("an id is there twice")  # then each line is written by itself
        with connection.cursor() as cursor:  # it is idle while files are uploaded
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '15min'")
        locked = Document.objects.select_for_update().order_by("pk").prefetch_related(*FILE_TYPES)
        old = list(locked.filter(workspace=self.workspace, pk__in=lines))
        known = {document.pk for document in old}
        new = [Document(id=id, workspace=self.workspace) for id in lines if id not in known]
        rows: list[StoredFile] = []
        uploads: dict[str, Path] = {}  # by their keys
        for document in (*new, *old):
            line = lines[document.pk]
            sealed = document.status == Document.Status.COMPLETED
            for column in COLUMNS:
                setattr(document, column, getattr(line.entry, column))
            what = "updated" if document.pk in known else "created"
            now = "deleted" if document.deleted_at else document.status.lower()
            facts: Any = {"by": actor(), "document": document.snapshot()}
            facts["workspace"] = self.workspace.snapshot()
            record(Action.DOCUMENT_IMPORTED, **facts, detail=f"{what}, {now}")
            for kind in FILE_TYPES:
                before, file = getattr(document, kind, None), line.files.get(kind)
                if (before and before.sha256) == (file and file.sha256):
                    continue
                if sealed:
                    raise Invalid("the files of a complete document are sealed, and these differ")
                setattr(document, kind, None)
                if file:
                    key = storage.new_key()
                    uploads[key] = file.path
                    rows.append(StoredFile(object_key=key, size=file.size, sha256=file.sha256))
                    setattr(document, kind, rows[-1])
                    snapshot = FileSnapshot(file_type=kind, file_sha256=file.sha256)
                    record(Action.FILE_IMPORTED, **facts, file=snapshot)
        upload(uploads)
        StoredFile.objects.bulk_create(rows)
        Document.objects.bulk_create(new)
        Document.objects.bulk_create(
            old, update_conflicts=True, unique_fields=["id"], update_fields=[*COLUMNS, *FILE_TYPES]
        )
        Recipient.objects.filter(document__in=old).delete()
        Recipient.objects.bulk_create(
            Recipient(document_id=line.id, **asdict(recipient))
            for line in batch
            for recipient in line.entry.recipients
        )
        self.counts["created"] += len(new)
        self.counts["updated"] += len(old)
        self.counts["files"] += len(rows)


def upload(files: Mapping[str, Path]) -> None:
    """Uploads files, several at a time, to objects with the keys of the mapping."""

    def save(key: str) -> None:
        with files[key].open("rb") as content:
            storage.save(content, key)

    client()  # made once, for all threads
    with ThreadPoolExecutor(UPLOADS, thread_name_prefix="upload") as pool:
        list(pool.map(save, files))
