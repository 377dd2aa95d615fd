"""The PDFs that a file names: measured inside its folder, and uploaded."""

import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from config.management.shutdown import Shutdown
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.importing.entries import DocumentEntry
from documents.importing.problems import ImportRefused, Invalid
from documents.pages import PageCounter

WORKERS = 8  # uploads at a time; the client's connection pool holds 10


class CheckedFile(Struct, frozen=True):
    """A PDF beside the imported file."""

    path: Path  # without links
    size: int  # bytes
    pages: int
    sha256: str  # hex digits, of the whole file


def check_file(folder: Path, counter: PageCounter, name: str) -> CheckedFile:
    """The PDF at a path relative to the folder of the imported file, which has no links.

    Raises:
        Invalid: there is none, or the path or a symbolic link leads out of the folder: an imported
            file must not be able to read other files of this machine.
    """
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise Invalid("leads out of the imported file's folder")
        if not path.is_file():  # opening a named pipe would block
            raise Invalid("is not there, or is not a file")
        with path.open("rb") as file:
            digest, size = hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
        return CheckedFile(path, size, page_count(counter, path), digest)
    except (OSError, RuntimeError) as exc:  # RuntimeError: symbolic links in a circle
        raise Invalid(f"cannot be read ({getattr(exc, 'strerror', None) or exc})") from exc


def page_count(counter: PageCounter, path: Path) -> int:
    """The number of pages, at least 1.

    Raises:
        Invalid: there is none, or it cannot be counted.
    """
    try:
        pages = counter.count(path)
    except ValueError as exc:
        raise Invalid(str(exc)) from exc
    if not pages:
        raise Invalid("is a PDF without pages")
    return pages


def check_files(
    document: DocumentEntry, check: Callable[[str], CheckedFile]
) -> dict[str, CheckedFile]:
    """The files that a document names, by type; completes its page count and file size.

    Args:
        check: `check_file` for one folder.

    Raises:
        Invalid: a file is not a PDF in the folder, or not as the document describes it.
    """
    files = {}
    for file_type in FILE_TYPES:
        name = getattr(document.files, file_type)
        if name is not None:
            try:
                files[file_type] = check(name)
            except Invalid as exc:
                raise Invalid(f"files.{file_type}: {name!r} {exc}") from None
    pages, size = files["original"].pages, files["original"].size
    if document.page_count not in (0, pages):
        raise Invalid(f"pageCount: is {document.page_count}, but the original has {pages}")
    if document.file_size not in (0, size):
        raise Invalid(f"fileSize: is {document.file_size}, but the original has {size}")
    document.page_count, document.file_size = pages, size
    return files


def upload(files: Mapping[str, CheckedFile], shutdown: Shutdown) -> None:
    """Uploads files, several at a time.

    Args:
        files: by the keys of the new objects.

    Raises:
        StorageError: one cannot be written.
        ImportRefused: one changed after it was checked.
        Stopped: the process was asked to end.
    """
    storage.client()  # made once, for all threads
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="upload")
    try:
        for _ in pool.map(_upload, files.keys(), files.values()):
            shutdown.check()
    finally:  # waits for those that have begun
        pool.shutdown(cancel_futures=True)


def _upload(key: str, file: CheckedFile) -> None:
    try:
        with file.path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                raise ImportRefused(f"{file.path} changed; nothing was imported.")
            storage.save(content, key)
    except OSError as exc:
        raise ImportRefused(
            f"{file.path} cannot be read any more ({exc.strerror}); nothing was imported."
        ) from exc
