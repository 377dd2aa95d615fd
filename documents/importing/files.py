"""The PDFs that a file names: opened inside its folder, measured, and uploaded."""

import contextlib
import functools
import hashlib
import logging
import os
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path, PurePath
from typing import IO

from msgspec import Struct
from pypdf import PdfReader
from pypdf.errors import DependencyError

from config.management.shutdown import Shutdown
from documents import storage
from documents.importing.problems import ImportRefused, Invalid, quoted

CACHED = 4096  # files; documents that share a PDF are mostly near each other
HEADER = b"%PDF-"
HEADER_WITHIN = 1024  # bytes; viewers accept a header that does not begin the file
# A FIFO must not block, and no link is followed that appears after the path was resolved.
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
WORKERS = 8  # uploads at a time; the client's connection pool holds 10

# pypdf would log warnings about readable but flawed files.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


class CheckedFile(Struct, frozen=True):
    """A PDF beside the imported file."""

    path: str  # relative to the folder, without links
    size: int  # bytes
    pages: int
    sha256: str  # hex digits, of the whole file


class Folder:
    """The folder of the imported file; nothing outside of it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        self.check = functools.lru_cache(CACHED)(self._check)

    def close(self) -> None:
        os.close(self._descriptor)

    def open(self, path: str) -> BufferedReader:
        """Opens a regular file by its relative path; OSError if a link is on the way."""
        *folders, name = PurePath(path).parts or ["."]
        with contextlib.ExitStack() as stack:
            parent = self._descriptor
            for folder in folders:
                parent = os.open(folder, OPEN_FLAGS | os.O_DIRECTORY, dir_fd=parent)
                stack.callback(os.close, parent)
            file = open(  # noqa: SIM115 - closed by the caller
                name, "rb", opener=lambda name, _: os.open(name, OPEN_FLAGS, dir_fd=parent)
            )
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise IsADirectoryError(f"{path} is not a regular file")
        return file

    def _check(self, name: str) -> CheckedFile:
        """The PDF at a relative path.

        Raises:
            Invalid: there is none, or a symbolic link leads out of the folder: an imported file
                must not be able to read other files of this machine.
        """
        if PurePath(name).is_absolute():
            raise Invalid("must be a path relative to the imported file")
        try:
            path = (self._path / name).resolve()
            if not path.is_relative_to(self._path):
                raise Invalid("leads out of the imported file's folder")
            relative = str(path.relative_to(self._path))
            with self.open(relative) as file:
                pages = page_count(file)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return CheckedFile(relative, file.tell(), pages, digest)
        except (FileNotFoundError, NotADirectoryError):
            raise Invalid("is not there") from None
        except IsADirectoryError:
            raise Invalid("is not a file") from None
        except (OSError, RuntimeError) as exc:  # RuntimeError: symbolic links in a circle
            reason = getattr(exc, "strerror", None) or exc
            raise Invalid(f"cannot be read ({reason})") from exc


def page_count(file: IO[bytes]) -> int:
    """The number of pages, at least 1.

    Raises:
        Invalid: it is something else, damaged, empty, or locked with a password.
    """
    if HEADER not in file.read(HEADER_WITHIN):
        raise Invalid("is not a PDF")
    file.seek(0)
    try:
        reader = PdfReader(file)
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = 0 if locked else len(reader.pages)
    except DependencyError:  # pypdf leaves AES to a package that nothing else here needs
        raise Invalid("is an encrypted PDF") from None
    except Exception as exc:  # a damaged file can raise any exception
        raise Invalid(f"is a PDF that cannot be read ({type(exc).__name__})") from exc
    if locked:
        raise Invalid("is a PDF locked with a password")
    if pages < 1:
        raise Invalid("is a PDF without pages")
    return pages


class Uploads:
    """Uploads files, and knows every object that it may have created.

    Attributes:
        keys: of the objects, each noted before its upload begins.
    """

    def __init__(self, folder: Folder, shutdown: Shutdown) -> None:
        self.keys: list[str] = []
        self._folder = folder
        self._shutdown = shutdown

    def upload(self, files: Sequence[CheckedFile]) -> list[str]:
        """Uploads files, several at a time, and returns the keys of the new objects.

        Raises:
            StorageError: one cannot be written.
            ImportRefused: one changed after it was checked.
            Stopped: the process was asked to end.
        """
        keys = [storage.new_key() for _ in files]
        self.keys += keys
        pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="upload")
        try:
            for _ in pool.map(self._upload, files, keys):
                self._shutdown.check()
        finally:  # waits for those that have begun
            pool.shutdown(cancel_futures=True)
        return keys

    def _upload(self, file: CheckedFile, key: str) -> None:
        try:
            with self._folder.open(file.path) as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                    raise ImportRefused(f"{quoted(file.path)} changed; nothing was imported.")
                storage.save(content, key)
        except OSError as exc:
            raise ImportRefused(
                f"{quoted(file.path)} cannot be read any more ({exc.strerror or exc}); nothing was "
                "imported."
            ) from exc
