"""The PDFs that a file names: opened inside its folder, and measured."""

import contextlib
import functools
import hashlib
import logging
import os
import stat
from io import BufferedReader
from pathlib import Path, PurePath
from typing import IO

from msgspec import Struct
from pypdf import PdfReader
from pypdf.errors import DependencyError

CACHED = 4096  # files; documents that share a PDF are mostly near each other
HEADER = b"%PDF-"
HEADER_WITHIN = 1024  # bytes; viewers accept a header that does not begin the file
# A FIFO must not block, and no link is followed that appears after the path was resolved.
OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


# pypdf would log warnings about readable but flawed files.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


class NotPdf(Exception):
    """The file is not a readable PDF; the message says why."""


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

    def _check(self, name: str) -> CheckedFile | str:
        """The PDF at a relative path, or what is wrong with it.

        A symbolic link that leads out of the folder is wrong: an imported file must not be
        able to read other files of this machine.
        """
        if PurePath(name).is_absolute():
            return "must be a path relative to the imported file"
        try:
            path = (self._path / name).resolve()
            if not path.is_relative_to(self._path):
                return "leads out of the imported file's folder"
            relative = str(path.relative_to(self._path))
            with self.open(relative) as file:
                pages = page_count(file)
                file.seek(0)
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return CheckedFile(relative, file.tell(), pages, digest)
        except NotPdf as exc:
            return str(exc)
        except (FileNotFoundError, NotADirectoryError):
            return "is not there"
        except IsADirectoryError:
            return "is not a file"
        except (OSError, RuntimeError) as exc:  # RuntimeError: symbolic links in a circle
            return f"cannot be read ({getattr(exc, 'strerror', None) or exc})"


def page_count(file: IO[bytes]) -> int:
    """The number of pages, at least 1.

    Raises:
        NotPdf: it is something else, damaged, empty, or locked with a password.
    """
    if HEADER not in file.read(HEADER_WITHIN):
        raise NotPdf("is not a PDF")
    file.seek(0)
    try:
        reader = PdfReader(file)
        locked = reader.is_encrypted and not reader.decrypt("")
        pages = 0 if locked else len(reader.pages)
    except DependencyError:  # pypdf leaves AES to a package that nothing else here needs
        raise NotPdf("is an encrypted PDF") from None
    except Exception as exc:  # a damaged file can raise any exception
        raise NotPdf(f"is a PDF that cannot be read ({type(exc).__name__})") from exc
    if locked:
        raise NotPdf("is a PDF locked with a password")
    if pages < 1:
        raise NotPdf("is a PDF without pages")
    return pages
