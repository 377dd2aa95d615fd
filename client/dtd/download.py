"""A file that is being downloaded."""

import base64
import hashlib
import os
import time
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
    """The beginning of a file, which a later process continues. It has one writer: others wait.

    Attributes:
        etag: of the file that it is the beginning of; empty if a process before has begun it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.etag = path, ""
        while not is_locked(file := path.open("a+b"), path):
            file.close()
            time.sleep(0.1)
        self.file = file
        # The last byte is received again: a range must have at least one.
        file.truncate(max(0, self.size - 1))

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return os.fstat(self.file.fileno()).st_size

    @property
    def digest(self) -> str:
        """The SHA-256 of what is there, in base64."""
        self.file.seek(0)
        return base64.b64encode(hashlib.file_digest(self.file, "sha256").digest()).decode()

    def restart(self) -> None:
        """Begins again."""
        self.file.truncate(0)
        self.etag = ""

    def write(self, block: bytes) -> None:
        try:
            self.file.write(block)
            self.file.flush()
        except OSError as exc:  # of a full disk, which does not name the file
            exc.filename = exc.filename or str(self.path)
            raise

    def save(self, to: Path) -> Path:
        """Gives the file its name, once all of it is on the disk."""
        os.fsync(self.file.fileno())
        if fcntl is None:  # Windows renames no open file; elsewhere, this would end the lock
            self.file.close()
        return self.path.replace(to)

    def close(self) -> None:
        """Ends the download. What is worth continuing stays."""
        if not self.file.closed:
            if not self.size:
                with suppress(PermissionError):  # Windows deletes no open file
                    self.path.unlink(missing_ok=True)
            with suppress(OSError):  # the error of the disk that `write` has raised, again
                self.file.close()
