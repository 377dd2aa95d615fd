"""Uploads an import's files to the object storage, and removes objects."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

from documents import storage
from documents.importing.files import CheckedFile, Folder
from documents.importing.problems import ImportRefused, quoted

WORKERS = 8  # uploads at a time; the client's connection pool holds 10
REMOVALS = 100  # queued at a time; each takes ten times the memory of its key
FAILURES = 20  # removals; after that many no more are tried
NAMED_KEYS = 20


class Uploads:
    """Uploads files in the background and knows every object that it may have created.

    Attributes:
        keys: of the objects, each noted before its upload begins.
    """

    def __init__(self, folder: Folder) -> None:
        self.keys: list[str] = []
        self._folder = folder
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="upload")

    def start(self, file: CheckedFile) -> "Future[str]":
        """Begins to upload a file; the result is the new object's key.

        The result raises:
            StorageError: it cannot be written.
            ImportRefused: the file changed after it was checked.
        """
        key = storage.new_key()
        self.keys.append(key)
        return self._pool.submit(self._upload, file, key)

    def finish(self) -> None:
        """Waits for the uploads that have begun, and cancels the others."""
        self._pool.shutdown(cancel_futures=True)

    def _upload(self, file: CheckedFile, key: str) -> str:
        try:
            with self._folder.open(file.path) as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                    raise ImportRefused(f"{quoted(file.path)} changed; nothing was imported.")
                return storage.save(content, key)
        except OSError as exc:
            raise ImportRefused(
                f"{quoted(file.path)} cannot be read any more ({exc.strerror or exc}); nothing was "
                "imported."
            ) from exc


def remove_objects(keys: list[str]) -> None:
    """Removes objects; tries the others when one cannot be removed.

    Raises:
        StorageError: some could not be; the text names them.
    """
    left: list[str] = []

    def remove(key: str) -> None:
        try:
            if len(left) >= FAILURES:
                raise storage.StorageError
            storage.delete([key])
        except storage.StorageError:
            left.append(key)

    with ThreadPoolExecutor(WORKERS) as pool:
        for start in range(0, len(keys), REMOVALS):
            list(pool.map(remove, keys[start : start + REMOVALS]))
    if left:
        named = ", ".join(left[:NAMED_KEYS]) + (" …" if len(left) > NAMED_KEYS else "")
        raise storage.StorageError(
            f"up to {len(left):,} unused objects could not be deleted: {named}"
        )
