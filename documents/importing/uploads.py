"""The objects that an import puts into the store: all of them stay, or none."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

from documents import storage
from documents.importing.files import CheckedFile
from documents.importing.problems import ImportRefused, shown

WORKERS = 8  # uploads at a time; the store's connection pool holds 10
REMOVALS = 100  # queued at a time; each takes ten times the memory of its key
FAILURES = 20  # removals; after that many the store is given up
NAMED_KEYS = 20


class Uploads:
    """Uploads files in the background and knows every object it may have made.

    Attributes:
        keys: of the objects, from before their upload began.
    """

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="upload")

    def start(self, file: CheckedFile) -> "Future[str]":
        """Begins to upload a file; the result is the new object's key.

        The result raises:
            StoreError: it cannot be written.
            ImportRefused: the file is not the one that was checked.
        """
        key = storage.new_key()
        self.keys.append(key)
        return self._pool.submit(_upload, file, key)

    def finish(self) -> None:
        """Waits for the uploads that have begun; the others are dropped."""
        self._pool.shutdown(cancel_futures=True)


def _upload(file: CheckedFile, key: str) -> str:
    try:
        with file.path.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != file.sha256:
                raise ImportRefused(f"{shown(str(file.path))} changed; nothing was imported.")
            content.seek(0)
            return storage.save(content, key)
    except OSError as exc:
        raise ImportRefused(
            f"{shown(str(file.path))} is gone ({exc.strerror}); nothing was imported."
        ) from exc


def remove_objects(keys: list[str]) -> None:
    """Removes objects from the store; tries the others when one cannot be removed.

    Raises:
        StoreError: some could not be; the text names them.
    """
    left: list[str] = []

    def remove(key: str) -> None:
        try:
            if len(left) >= FAILURES:
                raise storage.StoreError
            storage.delete([key])
        except storage.StoreError:
            left.append(key)

    with ThreadPoolExecutor(WORKERS) as pool:
        for start in range(0, len(keys), REMOVALS):
            list(pool.map(remove, keys[start : start + REMOVALS]))
    if left:
        named = ", ".join(left[:NAMED_KEYS]) + (" …" if len(left) > NAMED_KEYS else "")
        raise storage.StoreError(f"up to {len(left):,} unused objects are left in it: {named}")
