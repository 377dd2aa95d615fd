from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from django.core.management.base import CommandError
from django.db import DataError, IntegrityError, transaction
from msgspec.structs import asdict

from audit.models import Action
from audit.record import record
from audit.snapshots import FileSnapshot
from config.management.progress import Report
from config.management.shutdown import Shutdown, graceful_shutdown
from config.request.context import actor
from config.request.redaction import redact
from documents.importing.entries import DocumentEntry, Invalid, read
from documents.importing.files import LocalFile, count_pages, local_file
from documents.models import FILE_TYPES, Document, DocumentStatus, Recipient, StoredFile
from documents.storage import client
from workspaces.models import Workspace

BATCH = 200  # documents that are written in one transaction
UPLOADS = 8  # at a time; the client's connection pool holds more
SHOWN = 500  # characters of a problem
NOT_COLUMNS = {"id", "recipients", "files", "progress", "links"}
COLUMNS = [field for field in DocumentEntry.__struct_fields__ if field not in NOT_COLUMNS]


class Line(NamedTuple):
    number: int
    id: UUID
    entry: DocumentEntry
    files: dict[str, LocalFile]  # by type


class Importer:
    """Imports documents into a workspace.

    Args:
        folder: of the PDFs.
        report: called with a line for each refused line, each note, and each full batch.
    """

    def __init__(self, workspace: Workspace, folder: Path, report: Report) -> None:
        self.workspace, self.folder, self.report = workspace, folder.resolve(), report
        self.counts = Counter(created=0, updated=0, files=0, refused=0)

    def run(self, content: Iterable[bytes], *, strict: bool = False) -> None:
        """Imports lines; with `strict`, all or none.

        Raises:
            CommandError: a line was refused, with `strict`.
            StorageError, django.db.Error, OSError: what it needs cannot be used. The batches before
                that are imported, and importing the file again imports the others.
            Stopped: a signal asked the process to end, between two lines.
        """
        with graceful_shutdown() as shutdown:
            lines = self._valid_lines(content, shutdown)
            batches: Iterable[list[Line]] = iter(lambda: list(islice(lines, BATCH)), [])
            if strict:  # all are read, then all their files are uploaded, then all are written
                batches = list(batches)
                self._require_none_refused()
                for batch in batches:
                    self._upload(batch)
            with transaction.atomic() if strict else nullcontext():
                for batch in batches:
                    self._write(batch)
                    if len(batch) == BATCH:
                        self.report(f"line {batch[-1].number:,} …")
                if strict:
                    self._require_none_refused()

    def _valid_lines(self, content: Iterable[bytes], shutdown: Shutdown) -> Iterator[Line]:
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

    def _require_none_refused(self) -> None:
        if refused := self.counts["refused"]:
            raise CommandError(f"Refused lines: {refused:,}. Nothing was imported.")

    def _write(self, batch: Sequence[Line]) -> None:
        """Writes lines in one transaction, or each in its own if one of them is refused."""
        lines = {line.id: line for line in batch}
        try:
            if len(lines) < len(batch):
                raise Invalid("an id is there twice")  # then each line is written by itself
            self._upload(batch)
            with transaction.atomic():
                counts = self._store(lines)
            self.counts.update(counts)
        except (IntegrityError, DataError, Invalid) as exc:
            if len(batch) == 1:
                self._refuse(batch[0].number, exc)
            else:
                for line in batch:
                    self._write([line])

    def _upload(self, lines: Sequence[Line]) -> None:
        """Uploads the files that the documents do not have yet, several at a time."""
        documents = self.workspace.documents.filter(pk__in=[line.id for line in lines])
        sealed = set(documents.filter(status="COMPLETED").values_list("pk", flat=True))
        digests = documents.values_list("pk", *(f"{kind}__sha256" for kind in FILE_TYPES))
        stored = {id: dict(zip(FILE_TYPES, found, strict=True)) for id, *found in digests}
        needed = [
            file
            for line in lines
            for kind, file in line.files.items()
            if line.id not in sealed and file.sha256 != stored.get(line.id, {}).get(kind)
        ]
        client()  # made once, for all threads
        with ThreadPoolExecutor(UPLOADS, thread_name_prefix="upload") as pool:
            list(pool.map(LocalFile.upload, needed))

    def _store(self, lines: Mapping[UUID, Line]) -> dict[str, int]:
        locked = self.workspace.documents.select_for_update().prefetch_related(*FILE_TYPES)
        old = {document.pk: document for document in locked.filter(pk__in=lines).order_by("pk")}
        new = [Document(id=id, workspace=self.workspace) for id in lines if id not in old]
        rows: list[StoredFile] = []
        whose: Any = {"by": actor(), "workspace": self.workspace.snapshot()}
        for document in (*new, *old.values()):
            line = lines[document.pk]
            sealed = document.status == DocumentStatus.COMPLETED
            for column in COLUMNS:
                setattr(document, column, getattr(line.entry, column))
            what = "updated" if document.pk in old else "created"
            now = "deleted" if document.deleted_at else document.get_status_display().lower()
            facts = {**whose, "document": document.snapshot()}
            record(Action.DOCUMENT_IMPORTED, **facts, detail=f"{what}, {now}")
            for kind in FILE_TYPES:
                before, file = getattr(document, kind, None), line.files.get(kind)
                stored = before.sha256 if before else None
                given = file.sha256 if file else None
                if given == stored:
                    continue
                if sealed:
                    raise Invalid("the files of a complete document are sealed, and these differ")
                setattr(document, kind, None)
                if file:
                    key = file.upload()  # it was uploaded, unless the document has just changed
                    rows.append(StoredFile(object_key=key, size=file.size, sha256=file.sha256))
                    setattr(document, kind, rows[-1])
                    snapshot = FileSnapshot(file_type=kind, file_sha256=file.sha256)
                    record(Action.FILE_IMPORTED, **facts, file=snapshot)
        StoredFile.objects.bulk_create(rows)
        Document.objects.bulk_create(new)
        columns = [*COLUMNS, *FILE_TYPES]
        Document.objects.bulk_create(
            old.values(), update_conflicts=True, unique_fields=["id"], update_fields=columns
        )
        Recipient.objects.filter(document__in=old).delete()
        Recipient.objects.bulk_create(
            Recipient(document_id=line.id, **asdict(recipient))
            for line in lines.values()
            for recipient in line.entry.recipients
        )
        return {"created": len(new), "updated": len(old), "files": len(rows)}
