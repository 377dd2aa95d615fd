"""The check of the files in object storage against their sizes and digests in the database."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from time import sleep

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from audit.models import Action
from audit.queries import damage_is_recorded
from audit.record import record
from audit.snapshots import DocumentSnapshot, FileSnapshot, WorkspaceSnapshot
from config.management.progress import Progress, Report
from config.management.shutdown import Shutdown
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.models import Document, StoredFile

BATCH = 50  # files; that they were checked is committed together
MEGABYTE = 1_000_000  # bytes


@dataclass(frozen=True)
class Finding:
    """A stored file that is missing or damaged."""

    object: str  # its key
    problem: str
    expected_sha256: str
    found_sha256: str | None  # None if it is missing
    documents: list[dict[str, str]]  # that have the file


class FileCheck:
    """Reads the files that were not checked within the last `days`, never checked ones first.

    Attributes:
        checked: files that were read.
        size: bytes that were read.
    """

    def __init__(
        self, report: Report, shutdown: Shutdown, *, days: int, bytes_per_second: float
    ) -> None:
        self._shutdown = shutdown
        self._progress = Progress(report)
        self._days = timedelta(days=days)
        self._bytes_per_second = bytes_per_second
        self._total = 0
        self.checked = 0
        self.size = 0

    def findings(self) -> Iterator[Finding]:
        """The files that are missing or damaged. Those are read again by each check.

        Each file's first finding since its last good check is added to the audit log.

        Raises:
            storage.StorageError: object storage is out of reach, or refuses.
            django.db.Error: the database is out of reach.
            Stopped: between two chunks.
        """
        due = Q(checked_at=None) | Q(checked_at__lt=Now() - self._days)
        files = StoredFile.objects.order_by(F("checked_at").asc(nulls_first=True), "pk")
        keys = list(files.filter(due).values_list("pk", flat=True))
        self._total = len(keys)
        for start in range(0, len(keys), BATCH):
            good = []
            try:
                for file in files.filter(pk__in=keys[start : start + BATCH]):
                    if finding := self._check(file):
                        yield finding
                    else:
                        good.append(file.pk)
            finally:
                StoredFile.objects.filter(pk__in=good).update(checked_at=Now())

    def _check(self, file: StoredFile) -> Finding | None:
        try:
            size, found = self._read(file.object_key)
        except storage.Missing:
            if not StoredFile.objects.filter(pk=file.pk).exists():
                return None  # an import has just removed both
            return _record(file, "missing", None)
        if size != file.size:
            return _record(file, f"has {size} bytes instead of {file.size}", found)
        if found != file.sha256:
            return _record(file, f"damaged: SHA-256 is {found}", found)
        return None

    def _read(self, key: str) -> tuple[int, str]:
        """The size and the SHA-256 of an object."""
        size, digest = 0, hashlib.sha256()
        self.checked += 1
        with contextlib.closing(storage.read(key)) as chunks:
            for chunk in chunks:
                self._shutdown.check()
                self._progress.note(f"{self.checked:,} of {self._total:,} files checked …")
                digest.update(chunk)
                size += len(chunk)
                self.size += len(chunk)
                sleep(len(chunk) / self._bytes_per_second)
        return size, digest.hexdigest()


@transaction.atomic
def _record(file: StoredFile, problem: str, found: str | None) -> Finding:
    """Makes the file due for the next check, and adds what is not yet in the audit log."""
    StoredFile.objects.filter(pk=file.pk).update(checked_at=None)
    owners = []
    for workspace, document, file_type in _owners(file):
        owners.append({"document": str(document.document_id), "file_type": file_type})
        facts = (document.document_id, file_type, file.sha256)
        if not damage_is_recorded(*facts, since=file.checked_at):
            record(
                Action.FILE_DAMAGED,
                workspace=workspace,
                document=document,
                file=FileSnapshot(file_type=file_type, file_sha256=file.sha256),
                detail=problem,
            )
    return Finding(file.object_key, problem, file.sha256, found, owners)


def _owners(file: StoredFile) -> list[tuple[WorkspaceSnapshot, DocumentSnapshot, str]]:
    """The document that has the file, and its type."""
    return [
        (document.workspace.snapshot(), document.snapshot(), file_type)
        for file_type in FILE_TYPES
        for document in Document.objects.filter(**{file_type: file}).select_related("workspace")
    ]
