"""An import from beginning to end."""

import contextlib
import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedIOBase
from itertools import islice
from pathlib import Path
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from audit.record import together
from config.management.progress import Progress, Report
from config.management.shutdown import Shutdown, graceful_shutdown
from config.runtime.logs import redact
from documents import storage
from documents.importing.entries import NO_ID, DocumentEntry, Invalid, read
from documents.importing.files import local_file
from documents.importing.writer import Line, write
from documents.pages import PageCounter
from workspaces.models import Workspace

SHOWN = 500  # characters of a problem
BATCH = 200  # documents that are written in one transaction
CACHED = 4096  # files; documents that share a PDF are mostly near each other


class ImportRefused(Exception):
    """Lines were refused, and with `strict` nothing was imported."""


def import_lines(
    workspace: Workspace,
    content: BufferedIOBase,
    folder: Path,
    report: Report,
    *,
    by: str,
    strict: bool = False,
) -> dict[str, int]:
    """Imports the documents of a file into a workspace.

    Args:
        folder: of the PDFs.
        report: called with a line for each problem, and about once a second for the progress.
        by: who imports, for the audit log.
        strict: all lines are imported, or none.

    Returns:
        The documents that were created and updated, the files that were uploaded, and the lines
        that were refused.

    Raises:
        ImportRefused: a line was refused, with `strict`.
        StorageError, django.db.Error, OSError: what it needs cannot be used. The batches before
            that are imported, and importing the file again imports the others.
        Stopped: a signal asked the process to end, between two lines.
    """
    sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    content.seek(0)
    progress = Progress(report)
    with graceful_shutdown() as shutdown, PageCounter() as counter:
        importer = Importer(workspace, report, by, sha256)
        lines = importer.lines(content, folder.resolve(), counter, shutdown)
        counts = importer.counts
        with transaction.atomic() if strict else contextlib.nullcontext():
            if strict:  # all are read before any is written
                lines = iter(list(lines))
            while not (strict and counts["refused"]) and (batch := list(islice(lines, BATCH))):
                importer.write(batch)
                progress.note(f"line {batch[-1].number:,} …")
            if strict and counts["refused"]:
                raise ImportRefused(f"Refused lines: {counts['refused']:,}.")
    storage.delete(importer.replaced)
    return counts


class Importer:
    """Reads the lines of a file, and writes batches of them.

    Attributes:
        counts: as `import_lines` returns them.
        replaced: keys of objects that no document has any more, once all is committed.
    """

    def __init__(self, workspace: Workspace, report: Report, by: str, import_sha256: str) -> None:
        self.workspace, self.report, self.by = workspace, report, by
        self.import_sha256 = import_sha256
        self.counts = dict.fromkeys(("created", "updated", "files", "refused"), 0)
        self.replaced: list[str] = []
        self.copies: Counter[UUID] = Counter()  # of lines without an id

    def write(self, batch: Sequence[Line]) -> None:
        """Writes lines in one transaction, or each in its own if one of them is refused."""
        try:
            with transaction.atomic(), together():
                written = write(self.workspace, batch, by=self.by, import_sha256=self.import_sha256)
        except (IntegrityError, Invalid) as exc:
            if len(batch) == 1:
                return self.refuse(batch[0].number, exc)
            for line in batch:
                self.write([line])
            return None
        self.counts["created"] += written.created
        self.counts["updated"] += len(batch) - written.created
        self.counts["files"] += written.files
        self.replaced += written.replaced
        return None

    def refuse(self, number: int, problem: Exception) -> None:
        self.counts["refused"] += 1
        text = "".join(c if c.isprintable() else " " for c in redact(str(problem))[:SHOWN])
        self.report(f"line {number}, {text}")

    def lines(
        self, content: Iterable[bytes], folder: Path, counter: PageCounter, shutdown: Shutdown
    ) -> Iterator[Line]:
        """The valid lines; the others are refused."""
        find = functools.lru_cache(CACHED)(functools.partial(local_file, folder))
        count = functools.lru_cache(CACHED)(counter.count)
        for number, line in enumerate(content, 1):
            shutdown.check()
            text = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").strip()
            if not text:
                continue
            try:
                entry = read(text)
                self.set_ids(entry, text)
                files = {str(kind): find(name) for kind, name in entry.files.items() if name}
                pages = count(files["original"].path)
                if isinstance(pages, int):
                    entry.page_count = pages
                elif not entry.page_count:
                    raise Invalid(f"pageCount: is required, since the original {pages}")
                else:
                    self.report(f"line {number}, note: pageCount is used: the original {pages}")
                entry.file_size = files["original"].size
                yield Line(number, entry, files)
            except Invalid as exc:
                self.refuse(number, exc)

    def set_ids(self, entry: DocumentEntry, text: bytes) -> None:
        """Gives ids to what has none: the same ones whenever the same line is imported."""
        if entry.id == NO_ID:
            of_line = uuid5(self.workspace.pk, text.decode())
            self.copies[of_line] += 1
            entry.id = uuid5(of_line, str(self.copies[of_line]))
        for number, recipient in enumerate(entry.recipients):
            if recipient.id == NO_ID:
                recipient.id = uuid5(entry.id, str(number))
