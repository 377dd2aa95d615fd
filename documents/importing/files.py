"""The PDFs that a file names: found inside its folder, and uploaded."""

import hashlib
import unicodedata
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from documents import storage
from documents.importing.entries import Invalid

WORKERS = 8  # uploads at a time; the client's connection pool holds more
HEADER_WITHIN = 1024  # bytes, as PDF readers accept


class LocalFile(NamedTuple):
    """A PDF beside the imported file."""

    path: Path  # without links
    size: int  # bytes
    sha256: str  # hex digits


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
        if not path.is_relative_to(folder):
            raise Invalid(f"files: {name!r} leads out of the imported file's folder")
        if not path.is_file():
            raise Invalid(f"files: {name!r} is not there, or is not a file")
        with path.open("rb") as file:
            if b"%PDF-" not in file.read(HEADER_WITHIN):
                raise Invalid(f"files: {name!r} is not a PDF")
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return LocalFile(path, file.tell(), digest)
    except (OSError, RuntimeError) as exc:  # RuntimeError: symbolic links in a circle
        raise Invalid(f"files: {name!r} cannot be read: {exc}") from exc


def upload(files: Mapping[str, LocalFile]) -> None:
    """Uploads files, several at a time, to objects with the keys of the mapping.

    Raises:
        StorageError: one cannot be written.
        OSError: one cannot be read any more.
    """
    storage.client()  # made once, for all threads
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="upload") as pool:
        list(pool.map(_upload, files.keys(), files.values()))


def _upload(key: str, file: LocalFile) -> None:
    with file.path.open("rb") as content:
        storage.save(content, key)
