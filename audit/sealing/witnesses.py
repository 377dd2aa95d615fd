"""Witnesses: places outside of the database that keep checkpoints.

A checkpoint proves something only if the people who can change the database cannot change at
least one of the witnesses.
"""

import os
import sys
from collections import deque
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from botocore.exceptions import ClientError
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import storages

from audit.sealing.keys import PublicKey
from audit.sealing.note import Statement, read_notes
from config.management.progress import Report


class Witness:
    """A place that keeps checkpoints: this one is standard output, for what collects the log."""

    name = "stdout"  # in messages

    def publish(self, note: str) -> None:
        """Keeps a checkpoint; raises an exception if that fails."""
        sys.stdout.write(note)
        sys.stdout.flush()

    def newest(self) -> str | None:
        """The newest note it has; None if it has none, or cannot be read."""
        return None


class AppendedFile(Witness):
    """A file with one note after the other. It may be append-only (`chattr +a`)."""

    def __init__(self, path: Path) -> None:
        self.name = f"file {path}"
        self._path = path

    def publish(self, note: str) -> None:
        with self._path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # the last write was cut short
                    note = f"\n{note}"
            file.write(note.encode())
            file.flush()
            os.fsync(file.fileno())

    def newest(self) -> str | None:
        try:
            with self._path.open(errors="replace") as file:
                notes = deque(read_notes(file), maxlen=1)
        except FileNotFoundError:
            return None
        return notes[0] if notes else None


class Bucket(Witness):
    """Objects in a bucket of its own, one for each checkpoint, in a folder for each day.

    They are only created, with a key that no server has. With object lock in the bucket (a default
    retention), not even its owner can change them.
    """

    def __init__(self) -> None:
        self._storage = cast("Any", storages["witness"])
        self.name = f"bucket {self._storage.bucket_name}"

    def publish(self, note: str) -> None:
        statement = Statement.unchecked(note)
        name = f"sealed/{statement.sealed_at:%Y-%m-%d/%H%M%S}-{statement.size:020}"
        try:
            self._storage.put(name, BytesIO(note.encode()), IfNoneMatch="*")
        except ClientError as exc:
            exists = exc.response["Error"]["Code"] == "PreconditionFailed"
            if not exists or self._read(name) != note:
                raise

    def newest(self) -> str | None:
        days, _ = self._storage.listdir("sealed")
        if not days:
            return None
        _, names = self._storage.listdir(f"sealed/{max(days)}")
        return self._read(f"sealed/{max(days)}/{max(names)}")

    def _read(self, name: str) -> str:
        with self._storage.open(name) as file:
            return str(file.read(), "utf-8")


def witness(text: str) -> Witness:
    """One of AUDIT_WITNESSES; raises ImproperlyConfigured if it is none, or lacks a variable."""
    if text == "stdout":
        return Witness()
    if text == "bucket":
        if "witness" not in settings.STORAGES:
            raise ImproperlyConfigured(
                "The witness `bucket` needs AUDIT_WITNESS_BUCKET and AUDIT_WITNESS_ACCESS_KEY_ID."
            )
        return Bucket()
    path = text.removeprefix("file:")
    if path in ("", text):
        raise ImproperlyConfigured(
            f"AUDIT_WITNESSES must have `stdout`, `file:/path/to/file` or `bucket`, not {text!r}."
        )
    return AppendedFile(Path(path))


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
        found: list[Statement] = []
        for witness in self._witnesses:
            try:
                if note := witness.newest():
                    found.append(Statement.opened(note, keys))
                    self._published[witness.name] = note
            except Exception as exc:  # of any storage; the others may respond
                self._report(f"The witness {witness.name} cannot be read: {exc}")
        return max(found, key=lambda statement: statement.size, default=None)

    def publish(self, note: str) -> None:
        """Hands over the newest checkpoint, to each witness once."""
        self.failed = False
        for witness in self._witnesses:
            if self._published.get(witness.name) == note:
                continue
            try:
                witness.publish(note)
                self._published[witness.name] = note
            except Exception as exc:  # of any storage; sealing goes on without it
                self.failed = True
                self._report(f"The witness {witness.name} lacks the newest checkpoint: {exc}")
