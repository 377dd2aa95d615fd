"""Witnesses: places outside of the database that keep checkpoints.

A checkpoint proves something only if the people who can change the database cannot change at
least one of the witnesses.
"""

import os
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from audit.models import Checkpoint
from audit.tree.note import PublicKey, Statement, read_notes
from config.management.progress import Report

FORMS = "`stdout`, `file:/path/to/file` or `bucket`"


class Witness(Protocol):
    """A place that keeps checkpoints."""

    name: str

    def publish(self, size: int, note: str) -> None:
        """Keeps a checkpoint; raises an exception if that fails."""

    def newest(self) -> str | None:
        """The newest note it has; None if it has none, or cannot be read."""


class StandardOutput:
    """Standard output, for whatever collects the log."""

    name = "stdout"

    def publish(self, size: int, note: str) -> None:
        sys.stdout.write(note)
        sys.stdout.flush()

    def newest(self) -> None:
        return None


class AppendedFile:
    """A file with one note after the other. It may be append-only (`chattr +a`)."""

    def __init__(self, path: Path) -> None:
        self.name = f"file {path}"
        self._path = path

    def publish(self, size: int, note: str) -> None:
        with self._path.open("a+b") as file:
            if file.tell() and not self._ends_with_newline(file):
                note = f"\n{note}"  # the last write was cut short
            file.write(note.encode())
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def _ends_with_newline(file: IO[bytes]) -> bool:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"

    def newest(self) -> str | None:
        try:
            with self._path.open(errors="replace") as file:
                notes = deque(read_notes(file), maxlen=1)
        except FileNotFoundError:
            return None
        return notes[0] if notes else None


class Bucket:
    """Objects in a bucket of its own: one for each checkpoint, and `checkpoint`, the newest.

    With object lock in the bucket (a default retention), not even its owner can change them.
    """

    NEWEST = "checkpoint"

    def __init__(self) -> None:
        self._storage = storages["witness"]
        self.name = f"bucket {self._storage.bucket_name}"  # type: ignore[attr-defined]

    def publish(self, size: int, note: str) -> None:
        for key in (f"checkpoints/{size:020}", self.NEWEST):
            self._storage.save(key, ContentFile(note.encode()))

    def newest(self) -> str | None:
        if not self._storage.exists(self.NEWEST):
            return None
        with self._storage.open(self.NEWEST) as file:
            return str(file.read().decode())


def witnesses(configured: Sequence[str]) -> list[Witness]:
    """The witnesses that AUDIT_WITNESSES names.

    Raises:
        ImproperlyConfigured: one has none of the FORMS, or its bucket is not set.
    """
    found: list[Witness] = []
    for each in configured:
        kind, _, value = each.partition(":")
        if each == "stdout":
            found.append(StandardOutput())
        elif kind == "file" and value:
            found.append(AppendedFile(Path(value)))
        elif each == "bucket":
            if "witness" not in settings.STORAGES:
                raise ImproperlyConfigured(
                    "AUDIT_WITNESSES has `bucket`, but AUDIT_WITNESS_BUCKET is not set."
                )
            found.append(Bucket())
        else:
            raise ImproperlyConfigured(f"AUDIT_WITNESSES must have {FORMS}, not {each!r}.")
    return found


class Publisher:
    """Hands checkpoints to all witnesses; one that fails gets a newer one at the next time.

    Attributes:
        failed: whether a witness lacks the newest checkpoint.
    """

    def __init__(self, witnesses: Sequence[Witness], report: Report) -> None:
        self.failed = False
        self._witnesses = witnesses
        self._report = report
        self._published: dict[str, str] = {}  # notes

    def newest(self, keys: Sequence[PublicKey]) -> Statement | None:
        """The largest checkpoint that any witness has."""
        found: list[Statement] = []
        for witness in self._witnesses:
            try:
                if note := witness.newest():
                    found.append(Statement.opened(note, keys))
                    self._published[witness.name] = note
            except Exception as exc:  # of any storage; the others may respond
                self._report(f"The witness {witness.name} cannot be read: {exc}")
        return max(found, key=lambda statement: statement.size, default=None)

    def publish(self, checkpoint: Checkpoint) -> None:
        """Hands over the newest checkpoint, to each witness once."""
        self.failed = False
        for witness in self._witnesses:
            if self._published.get(witness.name) == checkpoint.note:
                continue
            try:
                witness.publish(checkpoint.size, checkpoint.note)
                self._published[witness.name] = checkpoint.note
            except Exception as exc:  # of any storage; sealing goes on without it
                self.failed = True
                self._report(
                    f"The witness {witness.name} did not get the checkpoint of "
                    f"{checkpoint.size:,} entries: {exc}"
                )
