"""A file that is being downloaded."""

import base64
import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment] # nothing is locked there


def is_locked(file: IO[Any], path: Path) -> bool:
    """Whether this process now has the only lock on an open file, which is still at its path."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


class Part:
    """The beginning of a file, which a later process continues. It has one writer at a time: others
    write a part of their own, which nobody continues.

    Attributes:
        size: how many bytes are there.
        etag: of the file that they are the beginning of; None if a process before has begun it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._shared = path, True
        self.etag: str | None = None
        self._file: IO[bytes] = path.open("a+b")
        if not is_locked(self._file, path):
            self._file.close()
            own = f"{os.getpid()}-{threading.get_ident()}"
            self.path, self._shared = path.with_name(f"{path.name}.{own}.part"), False
            self._file = self.path.open("w+b")
        # The last byte is received again: a range must have at least one.
        self.size = max(0, self._file.seek(0, os.SEEK_END) - 1)
        self._file.truncate(self.size)
        self._file.seek(0)
        self._hash = hashlib.file_digest(self._file, "sha256")

    @property
    def digest(self) -> str:
        """The SHA-256 of what is there, in base64."""
        return base64.b64encode(self._hash.digest()).decode()

    def restart(self) -> None:
        """Begins again."""
        self._file.truncate(0)
        self.size, self._hash, self.etag = 0, hashlib.sha256(), None

    def write(self, block: bytes) -> None:
        try:
            self._file.write(block)
            self._file.flush()
        except OSError as exc:  # of a full disk, which does not name the file
            exc.filename = exc.filename or str(self.path)
            raise
        self._hash.update(block)
        self.size += len(block)

    def save(self, to: Path) -> Path:
        """Gives the file its name, once all of it is on the disk."""
        os.fsync(self._file.fileno())
        self._release()
        return self.path.replace(to)

    def _release(self) -> None:
        """Windows renames and deletes no open file; elsewhere, closing it would end the lock."""
        if fcntl is None:
            self._file.close()

    def close(self) -> None:
        """Ends the download. What is worth continuing stays."""
        self._release()
        if not (self._shared and self.size):
            self.path.unlink(missing_ok=True)
        with suppress(OSError):  # the error of the disk that `write` has raised, again
            self._file.close()
