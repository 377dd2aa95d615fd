"""The PDFs that a file names: found, read and measured."""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePath

from documents.importing import pdf

REMEMBERED = 4096  # files; documents that share a PDF mostly stand near each other


@dataclass(frozen=True)
class CheckedFile:
    """A PDF beside the imported file."""

    path: Path
    size: int  # bytes
    pages: int
    sha256: str  # hex digits, of the whole file


class Folder:
    """The folder of the imported file; nothing outside of it is read."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self.check = functools.lru_cache(REMEMBERED)(self._check)

    def _check(self, name: str) -> CheckedFile | str:
        """The PDF at a relative path, or what is wrong with it.

        A symbolic link that leads out of the folder is wrong: a file from elsewhere must not
        choose which of this machine's files become documents.
        """
        if PurePath(name).is_absolute():
            return "takes a path relative to the imported file"
        try:
            path = (self._path / name).resolve()
            if not path.is_relative_to(self._path):
                return "leads out of the imported file's folder"
            if not path.is_file():
                return "is not there" if not path.exists() else "is not a file"
            return self._measure(path)
        except pdf.NotPdf as exc:
            return str(exc)
        except (OSError, RuntimeError) as exc:  # RuntimeError: symbolic links in a circle
            return f"cannot be read ({getattr(exc, 'strerror', None) or exc})"

    def _measure(self, path: Path) -> CheckedFile:
        with path.open("rb") as file:
            pages = pdf.page_count(file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return CheckedFile(path, file.tell(), pages, digest)
