"""An import from beginning to end, which writes all documents of a file or none."""

import functools
import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction

from audit.record import together
from config.management.progress import Progress, Report
from config.management.shutdown import Shutdown, graceful_shutdown
from documents import storage
from documents.importing.entries import DocumentEntry, read
from documents.importing.files import CheckedFile, check_file, check_files, upload
from documents.importing.problems import Invalid, Problems
from documents.importing.writer import Record, Writer
from documents.models import StoredFile
from documents.pages import PageCounter
from workspaces.models import Workspace

log = logging.getLogger(__name__)

BATCH = 200  # documents that are written together, or files that are uploaded
CACHED = 4096  # files; documents that share a PDF are mostly near each other
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Counts:
    """What an import did.

    Attributes:
        files: objects that were uploaded; files that a document has already are not.
    """

    created: int
    updated: int
    files: int


def import_file(
    workspace: Workspace,
    file: Path,
    report: Report = lambda line: None,
    *,
    by: str,
) -> Counts:
    """Imports the documents of a file into a workspace: all of them, or none.

    Args:
        by: who imports, for the audit log.
        report: called about once a second with a line about the progress.

    Raises:
        ImportRefused: the file has problems; the text lists them.
        StorageError: the object storage cannot be used.
        django.db.Error: the database cannot be used, or another import came in between.
        OSError: the file cannot be read.
        Stopped: a signal asked the process to end, between two steps.
    """
    with graceful_shutdown() as shutdown, file.open("rb") as content, PageCounter() as counter:
        progress, problems = Progress(report), Problems()
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        content.seek(0)
        writer = Writer(workspace, problems, by, digest)
        uploaded: list[str] = []  # keys of objects that may exist
        committing = False
        try:
            with transaction.atomic(durable=True):
                with connection.cursor() as cursor:  # files are uploaded meanwhile
                    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '15min'")
                with together():
                    check = functools.partial(check_file, file.parent.resolve(), counter)
                    records = _records(content, check, problems, shutdown)
                    while batch := list(islice(records, BATCH)):
                        writer.write(batch)
                        progress.note(f"line {batch[-1].line:,} …")
                    problems.raise_if_any(file.name)
                    files = iter(writer.uploads.items())
                    while some := dict(islice(files, BATCH)):
                        uploaded += some
                        upload(some, shutdown)
                        progress.note(f"{len(uploaded):,} of {len(writer.uploads):,} files …")
                        with connection.cursor() as cursor:  # ends its idle time
                            cursor.execute("SELECT 1")
                shutdown.check()
                committing = True
        except BaseException:
            # The commit may have succeeded although it raised; the objects are needed then. If the
            # database is out of reach, this query raises and the objects are kept too.
            stored = StoredFile.objects.filter(object_key__in=uploaded[:1])
            if not (committing and stored.exists()):
                storage.delete(uploaded)
            raise
        try:
            storage.delete(writer.replaced)
        except storage.StorageError as exc:
            log.warning("The documents are imported, but of the files they had before: %s", exc)
        return Counts(writer.created, writer.updated, len(uploaded))


def _records(
    content: Iterable[bytes],
    check: Callable[[str], CheckedFile],
    problems: Problems,
    shutdown: Shutdown,
) -> Iterator[Record]:
    """The valid documents of the file; what is wrong with the others is added to `problems`."""
    check = functools.lru_cache(CACHED)(check)
    ids: dict[tuple[bool, UUID], int] = {}
    for number, line in enumerate(content, 1):
        shutdown.check()
        text = line.removeprefix(BOM) if number == 1 else line
        if text.strip():
            try:
                entry = read(text)
                _check_ids(entry, number, ids)
                yield Record(number, entry, check_files(entry, check))
            except Invalid as exc:
                problems.append((number, str(exc)))


def _check_ids(entry: DocumentEntry, number: int, ids: dict[tuple[bool, UUID], int]) -> None:
    """Adds the ids of a line.

    Args:
        ids: the line of each id, apart for documents (True) and recipients.

    Raises:
        Invalid: one is in the file already.
    """
    recipients = (
        (f"recipients[{n}].id", False, each.id) for n, each in enumerate(entry.recipients)
    )
    for path, of_document, id in (("id", True, entry.id), *recipients):
        if (of_document, id) in ids:
            raise Invalid(f"{path}: {id} is on line {ids[of_document, id]} already")
        ids[of_document, id] = number
