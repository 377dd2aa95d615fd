"""What is sent is what was stored: the digest of a whole file, checked while it is sent."""

import hashlib
from collections.abc import Iterator

from documents.storage_reading import OpenObject


class DamagedObject(Exception):
    """The bytes of an object are not those that were stored.

    Attributes:
        found: its SHA-256, hex digits.
    """

    def __init__(self, found: str) -> None:
        super().__init__(f"an object is damaged: its SHA-256 is {found}")
        self.found = found


class CheckedChunks:
    """The chunks of a whole object. The last one comes only if the object has the file's digest.

    hashlib releases the GIL, so other threads run meanwhile. A part of a file has no digest of its
    own and cannot be checked.

    Args:
        opened: the object, not read yet.
        sha256: the file's digest, hex digits.

    Raises:
        DamagedObject: instead of the last chunk.
    """

    def __init__(self, opened: OpenObject, sha256: str) -> None:
        self._chunks = iter(opened)
        self._left = opened.length
        self._sha256 = sha256
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = next(self._chunks, b"")
        self._hash.update(chunk)
        self._left -= len(chunk)
        if not self._left and (found := self._hash.hexdigest()) != self._sha256:
            raise DamagedObject(found)
        if not chunk:
            raise StopIteration
        return chunk
