"""An import from beginning to end."""

import contextlib
import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from audit.record import together
from config.management.progress import Progress, Report
from config.management.shutdown import graceful_shutdown
from config.runtime.logs import redact
from documents import storage
from documents.importing.entries import DocumentEntry, Invalid, read
from documents.importing.files import local_file
from documents.importing.writer import Counts, Line, Writer
from documents.pages import PageCounter
from workspaces.models import Workspace

BATCH = 200  # documents that are written in one transaction
CACHED = 4096  # files; documents that share a PDF are mostly near each other
SHOWN = 500  # characters of a problem


class ImportRefused(Exception):
    """Lines were refused, and with `strict` nothing was imported."""


def import_lines(
    workspace: Workspace,
    content: BinaryIO,
    folder: Path,
    report: Report,
    *,
    by: str,
    strict: bool = False,
) -> Counts:
    """Imports the documents of a file into a workspace.

    Args:
        folder: of the PDFs.
        report: called with a line for each problem, and about once a second for the progress.
        by: who imports, for the audit log.
        strict: all lines are imported, or none.

    Raises:
        ImportRefused: a line was refused, with `strict`.
        StorageError, django.db.Error, OSError: what it needs cannot be used. The batches before
            that are imported, and importing the file again imports the others.
        Stopped: a signal asked the process to end, between two lines.
    """
    sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    content.seek(0)
    writer, progress = Writer(workspace, by, sha256), Progress(report)
    with graceful_shutdown() as shutdown, PageCounter() as counter:
        reader = Reader(workspace, folder.resolve(), counter, report)
        lines = reader.lines(content, shutdown.check)
        with transaction.atomic() if strict else contextlib.nullcontext():
            if strict:  # all are read before any is written
                lines = iter(list(lines))
            while not (strict and reader.refused) and (batch := list(islice(lines, BATCH))):
                _write(writer, batch, reader)
                progress.note(f"line {batch[-1].number:,} …")
            if strict and reader.refused:
                raise ImportRefused(f"Refused lines: {reader.refused:,}.")
    storage.delete(writer.replaced)
    return writer.counts._replace(refused=reader.refused)


def _write(writer: Writer, batch: Sequence[Line], reader: "Reader") -> None:
    """Writes lines in one transaction, or each in its own if one of them is refused."""
    try:
        with transaction.atomic(), together():
            writer.write(batch)
    except (IntegrityError, Invalid) as exc:
        if len(batch) == 1:
            reader.refuse(batch[0].number, " ".join(str(exc).split()))
            return
        for line in batch:
            _write(writer, [line], reader)


class Reader:
    """Reads the lines of a file.

    Attributes:
        refused: lines, so far.
    """

    def __init__(
        self, workspace: Workspace, folder: Path, counter: PageCounter, report: Report
    ) -> None:
        self.refused = 0
        self._workspace, self._report = workspace, report
        self._file = functools.lru_cache(CACHED)(functools.partial(local_file, folder))
        self._pages = functools.lru_cache(CACHED)(counter.count)
        self._copies: Counter[UUID] = Counter()  # of lines without an id

    def refuse(self, number: int, problem: str) -> None:
        self.refused += 1
        self._say(number, problem)

    def _say(self, number: int, text: str) -> None:
        """Without secrets of the file, and without characters that change a terminal."""
        shown = (c if c.isprintable() else repr(c)[1:-1] for c in redact(text)[:SHOWN])
        self._report(f"line {number}, {''.join(shown)}")

    def lines(self, content: Iterable[bytes], check: functools.partial) -> Iterator[Line]:
        """The valid lines; the others are refused."""
        for number, line in enumerate(content, 1):
            check()
            text = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").strip()
            try:
                if text:
                    yield self._line(number, text)
            except Invalid as exc:
                self.refuse(number, str(exc))

    def _line(self, number: int, text: bytes) -> Line:
        entry = read(text)
        self._set_ids(entry, text)
        files = {}
        for file_type, name in entry.files.items():
            try:
                if name:
                    files[file_type] = self._file(name)
            except Invalid as exc:
                raise Invalid(f"files.{file_type}: {name!r} {exc}") from None
        pages = self._pages(files["original"].path)
        if isinstance(pages, int):
            entry.page_count = pages
        elif entry.page_count:
            self._say(number, f"note: the original {pages}; pageCount is taken from the line")
        else:
            raise Invalid(f"pageCount: is required, since the original {pages}")
        entry.file_size = files["original"].size
        return Line(number, entry, files)

    def _set_ids(self, entry: DocumentEntry, text: bytes) -> None:
        """Gives ids to what has none: the same ones whenever the same line is imported."""
        if entry.id is None:
            of_line = uuid5(self._workspace.pk, text.decode())
            self._copies[of_line] += 1
            entry.id = uuid5(of_line, str(self._copies[of_line]))
        for number, recipient in enumerate(entry.recipients):
            recipient.id = recipient.id or uuid5(entry.id, str(number))
            recipient.decline_reason = recipient.decline_reason or None
