"""A file that is being downloaded."""

import base64
import errno
import filecmp
import hashlib
import logging
import os
import shutil
import time
import unicodedata
from contextlib import suppress
from functools import cache
from io import BufferedRandom
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dtd.errors import DamagedFile

if TYPE_CHECKING:
    import httpx


StrPath = str | os.PathLike[str]
warn_once = cache(logging.getLogger("dtd").warning)
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # NFS, FUSE


def home(path: StrPath) -> Path:
    """The path, with HOME for `~` at its beginning: not everything is started by a shell."""
    with suppress(RuntimeError):  # there is no such user
        return Path(path).expanduser()
    return Path(path)


def open_file(path: Path) -> BufferedRandom:
    """Opens a file, to add to it. No symbolic link is followed: in a folder that others may write
    to, it could lead to any file of this user. So could a hard link, to which nothing is added."""
    no_link = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
    return open(path, "a+b", opener=lambda name, flags: os.open(name, flags | no_link, 0o666))  # noqa: PTH123, SIM115


def copy_of(file: IO[bytes], path: Path) -> BufferedRandom:
    """Puts a locked copy of an open file at its path, and returns it."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    copy = open_file(new)
    shutil.copymode(path, new)
    file.seek(0)
    shutil.copyfileobj(file, copy)
    copy.flush()
    is_locked(copy, new)
    new.replace(path)
    return copy


def in_utf8(name: StrPath) -> str:
    """The name as it is on the disk, where this package's names are UTF-8 in any locale."""
    return os.fsencode(name).decode(errors="replace")


def fitting(folder: Path, name: str, ending: str) -> str:
    """The name with its ending, cut between the two to what the folder's file system allows."""
    if hasattr(os, "pathconf"):
        longest = min(os.pathconf(folder, "PC_NAME_MAX") % 2**16, 255)  # -1: no limit
    else:  # Windows: 259 characters of the whole path
        longest = min(258 - len(str(folder.absolute())), 255)
    composed = unicodedata.normalize("NFC", name).encode(errors="ignore")
    kept = composed[: max(0, longest - len(ending.encode()))].decode(errors="ignore")
    return os.fsdecode((kept.rstrip(" .") + ending).encode())


def is_locked(file: IO[Any], path: Path) -> bool:
    """Whether this process now has the only lock on an open file, which is still at its path."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False
    except ImportError:  # Windows: nothing is locked there
        return True
    except OSError as exc:
        if exc.errno not in NO_LOCKS:
            raise
        warn_once("%s is on a file system without locks: run one at a time.", path.parent)
        return True


class Part:
    """The beginning of a file, which a later process continues. It has one writer: others wait."""

    def __init__(self, path: Path) -> None:
        self.path, self._etag = path, ""
        while True:
            file = open_file(path)
            if is_locked(file, path):
                if os.fstat(file.fileno()).st_nlink <= 1:
                    break
                path.unlink()  # its other names stay as they are
            file.close()
            time.sleep(0.1)
        self._file = file
        # The last byte is received again: a range must have at least one.
        file.truncate(max(0, self.size - 1))

    @property
    def size(self) -> int:
        """Bytes that are there."""
        return os.fstat(self._file.fileno()).st_size

    def restart(self) -> None:
        """Begins again."""
        self._file.truncate(0)
        self._etag = ""

    def headers(self) -> dict[str, str]:
        """Those of a request for what is missing, if it is of the same file."""
        headers = {"Accept-Encoding": "identity"}
        if self.size:
            headers["Range"] = f"bytes={self.size}-"
            if self._etag:  # otherwise a process before has begun it: the digest will tell
                headers["If-Range"] = self._etag
        return headers

    def receive(self, response: "httpx.Response") -> None:
        """Adds what is missing, and compares the digest of the whole."""
        if response.status_code != 206:
            self.restart()
        self._etag = response.headers.get("ETag", "")
        try:
            for block in response.iter_raw():
                self._file.write(block)
                self._file.flush()
        except OSError as exc:  # of a full disk, which does not name the file
            exc.filename = exc.filename or str(self.path)
            raise
        self._file.seek(0)
        digest = base64.b64encode(hashlib.file_digest(self._file, "sha256").digest()).decode()
        if response.headers.get("Repr-Digest") != f"sha-256=:{digest}:":
            raise DamagedFile(f"{response.url}: The file is damaged: its digest differs.")

    def save(self, to: Path, *, may_replace: bool) -> Path:
        """Gives the file its name, once all of it is on the disk."""
        os.fsync(self._file.fileno())
        is_free = may_replace or not os.path.lexists(to)
        if not is_free and (to.is_symlink() or not filecmp.cmp(self.path, to, shallow=False)):
            self.restart()
            raise FileExistsError(errno.EEXIST, "Another file has this name", str(to))
        if os.name == "nt":  # it renames no open file; elsewhere, this would end the lock
            self._file.close()
        return self.path.replace(to)

    def close(self) -> None:
        """Ends the download. What is worth continuing stays."""
        if not self._file.closed:
            if not self.size:
                with suppress(PermissionError):  # Windows deletes no open file
                    self.path.unlink(missing_ok=True)
            with suppress(OSError):  # the error of the disk that `receive` has raised, again
                self._file.close()
