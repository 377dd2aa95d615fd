"""An import from beginning to end: check everything, then write everything or nothing."""

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import connection, transaction

from audit.record import together
from config.management.progress import Progress, Report
from config.management.shutdown import Shutdown, graceful_shutdown
from documents import storage
from documents.importing.files import Folder, Uploads
from documents.importing.parser import lines, parse
from documents.importing.problems import Invalid, Problems
from documents.importing.staging import Staging
from documents.importing.validation import Record, check_files, label, validate
from documents.importing.writer import Writer
from documents.models import StoredFile
from workspaces.models import Workspace

log = logging.getLogger(__name__)


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
    with (
        graceful_shutdown() as shutdown,
        file.open("rb") as content,
        contextlib.closing(Folder(file.parent)) as folder,
    ):
        uploads = Uploads(folder, shutdown)
        progress, digest = Progress(report), hashlib.sha256()
        committing = False
        try:
            # One transaction from here on: a PgBouncer may give the next one another connection,
            # which does not have the temporary table.
            with transaction.atomic(durable=True):
                with connection.cursor() as cursor:  # files are uploaded meanwhile
                    cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '15min'")
                staging = Staging()
                problems = Problems()
                staging.fill(_records(content, digest, folder, problems, shutdown, progress))
                staging.check_ids(workspace, problems)
                problems.raise_if_any(file.name)
                writer = Writer(workspace, uploads, problems, by, digest.hexdigest())
                with together():
                    for batch in staging.batches():
                        writer.write(batch)
                        done = writer.created + writer.updated
                        progress.note(f"{done:,} of {staging.documents:,} documents imported …")
                    problems.raise_if_any(file.name)
                shutdown.check()
                committing = True
        except BaseException:
            # The commit may have succeeded although it raised; the objects are needed then. If the
            # database is out of reach, this query raises and the objects are kept too.
            stored = StoredFile.objects.filter(object_key__in=uploads.keys[:1])
            if not (committing and stored.exists()):
                storage.delete(uploads.keys)
            raise
        try:
            storage.delete(writer.replaced)
        except storage.StorageError as exc:
            log.warning("The documents are imported, but of the files they had before: %s", exc)
        return Counts(writer.created, writer.updated, len(uploads.keys))


def _records(
    content: IO[bytes],
    digest: "hashlib._Hash",
    folder: Folder,
    problems: Problems,
    shutdown: Shutdown,
    progress: Progress,
) -> Iterator[Record]:
    """The valid documents of the file; what is wrong with the others is added to `problems`."""
    for checked, (number, line) in enumerate(lines(content, problems, digest)):
        shutdown.check()
        progress.note(f"{checked:,} documents checked …")
        name = ""
        try:
            value = parse(line)
            name = label(value)
            document = validate(value)
            yield Record(number, name, document, check_files(document, folder))
        except Invalid as exc:
            problems.add(number, f"{name}, {exc}" if name else str(exc))
