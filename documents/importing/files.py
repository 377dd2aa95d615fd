"""The PDFs that a file names: found inside its folder, their pages counted, and uploaded."""

import hashlib
import logging
import signal
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from pypdf import PdfReader

from documents import storage
from documents.importing.entries import Invalid

HEADER_WITHIN = 1024  # bytes, as PDF readers accept
COUNT_SECONDS = 10  # a small file can keep pypdf busy for hours

# It would log warnings about readable but flawed files.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


@dataclass
class LocalFile:
    path: Path  # without links
    size: int  # bytes
    sha256: str  # hex digits
    key: str = ""  # of its object, once it is uploaded

    def upload(self) -> str:
        if not self.key:
            with self.path.open("rb") as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != self.sha256:
                    raise OSError(f"{self.path} has changed since it was read")
                self.key = storage.save(content)
        return self.key


def local_file(folder: Path, name: str) -> LocalFile:
    """The PDF at a path relative to the folder of the imported file, which has no links.

    Raises:
        Invalid: there is none, or the path or a symbolic link leads out of the folder: an imported
            file must not be able to read other files of this machine.
    """
    # A Mac writes names decomposed, and most other programs compose them.
    names = (name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))
    try:
        paths = [(folder / each).resolve() for each in names]
        path = next(filter(Path.is_file, paths), paths[0])  # opening a named pipe would block
        if not (path.is_relative_to(folder) and path.is_file()):
            raise Invalid(f"{name!r} is not a file in the imported file's folder")
        with path.open("rb") as file:
            if b"%PDF-" not in file.read(HEADER_WITHIN):
                raise Invalid(f"{name!r} is not a PDF")
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return LocalFile(path, file.tell(), digest)
    except (OSError, RuntimeError, ValueError) as exc:  # links in a circle; a name with a NUL
        raise Invalid(f"{name!r} cannot be read: {exc}") from exc


def count_pages(path: Path) -> int | str:
    """The number of a PDF's pages, or why they cannot be counted. For the main thread only."""
    # It raises KeyboardInterrupt, which is no Exception: pypdf catches some of those.
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(COUNT_SECONDS)
    try:
        with path.open("rb") as file:
            return len(PdfReader(file).pages) or "it has none"
    except KeyboardInterrupt:
        return f"counting them takes more than {COUNT_SECONDS} seconds"
    except Exception as exc:  # a damaged file can raise any
        return repr(exc)
    finally:
        signal.alarm(0)
