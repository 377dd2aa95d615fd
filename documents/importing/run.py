"""An import from beginning to end: check everything, then write everything or nothing."""

import contextlib
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from django.db import transaction

from config.management.progress import Progress, Say
from config.management.shutdown import Stop, stoppable
from documents.importing.applying import Writer
from documents.importing.checking import Record, check
from documents.importing.files import Folder
from documents.importing.identity import Identities
from documents.importing.problems import Problems
from documents.importing.reading import Reader
from documents.importing.spool import Spool
from documents.importing.uploads import Uploads, remove_objects
from documents.models import StoredFile
from documents.storage import StoreError
from workspaces.models import Workspace

BATCH = 200  # documents checked or written at a time

T = TypeVar("T")

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


def import_file(workspace: Workspace, file: Path, say: Say = lambda line: None) -> Counts:
    """Imports the documents of a file into a workspace: all of them, or none.

    Signals that ask the process to end are heard between two steps while this runs.

    Args:
        say: called about once a second with a line on how far it is.

    Raises:
        ImportRefused: the file has problems; the text lists them.
        StoreError: the store cannot be used.
        django.db.Error: the database cannot be used, or another import came in between.
        OSError: the file cannot be read.
        Stopped: the process was asked to end.
    """
    with stoppable() as stop, contextlib.closing(Spool()) as spool:
        progress = Progress(say)
        _check(workspace, file, spool, stop, progress)
        return _write(workspace, spool, stop, progress)


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _check(workspace: Workspace, file: Path, spool: Spool, stop: Stop, progress: Progress) -> None:
    """Fills the spool with the file's documents, or refuses the file with all its problems."""
    problems = Problems()
    folder = Folder(file.parent)

    def records(entries: Iterable[Record]) -> Iterator[Record]:
        for number, record in enumerate(entries, 1):
            stop.check()
            progress.note(f"{number:,} documents checked …")
            yield record

    with (
        file.open("rb") as content,
        contextlib.closing(Identities(workspace, problems)) as identities,
    ):
        entries = Reader(problems).read(content)
        for batch in _batches(records(check(entry, folder, problems) for entry in entries)):
            identities.check(batch)
            if not problems.count:
                spool.write(batch)
    problems.refuse_if_any(file.name)


def _write(workspace: Workspace, spool: Spool, stop: Stop, progress: Progress) -> Counts:
    """Stores the spool's documents in one transaction; when that fails no new object stays."""
    uploads = Uploads()
    writer = Writer(workspace, uploads, stop)
    committing = False
    try:
        with transaction.atomic(durable=True):
            for batch in spool.read():
                writer.write(batch)
                done = writer.created + writer.updated
                progress.note(f"{done:,} of {spool.count:,} documents imported …")
            stop.check()
            committing = True
    except BaseException:
        uploads.finish()
        # A commit that got no answer may have happened. Then the objects are needed, and while
        # the database cannot be asked they might be: this raises its error and keeps them.
        if not (committing and _stored(uploads.keys)):
            remove_objects(uploads.keys)
        raise
    uploads.finish()
    try:
        remove_objects(writer.replaced)
    except StoreError as exc:
        log.warning("The documents are imported, but of the files they had before: %s", exc)
    return Counts(writer.created, writer.updated, len(uploads.keys))


def _stored(keys: list[str]) -> bool:
    """Whether the transaction that stored these keys, all at once, is committed."""
    return StoredFile.objects.filter(object_key__in=keys[:1]).exists()
