"""The PDFs in object storage.

Objects are saved, deleted and measured through Django's storage API. They are read with boto3's
client, since django-storages' file object would copy a whole object before its first byte.
"""

import contextlib
import functools
import re
from collections.abc import Generator, Iterable, Iterator
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from botocore.exceptions import BotoCoreError
from django.core.files import File
from urllib3.exceptions import HTTPError

from documents.s3 import STORE, OutOfReach, StorageError, client, request

if TYPE_CHECKING:
    from botocore.response import StreamingBody

_OURS = re.compile(r"[0-9a-f]{32}\.pdf|check/[0-9a-f]{32}")  # keys, as `save` and `probe` make them
CHUNK_SIZE = 180 * 1024  # bytes; with 64 KiB the throughput is a fifth lower
NAMED_KEYS = 20  # of objects that could not be deleted
BUCKET = "(the bucket)"  # in messages, in the place of an object's key


def open_object(
    key: str, length: int | None = None, byte_range: str | None = None
) -> "StreamingBody":
    """The body of an object, or of a part of it, that has `length` bytes; the caller closes it.

    When this returns, its headers have arrived but its bytes have not.

    Args:
        length: None if any length is right.
        byte_range: the value of the Range header for the part.

    Raises:
        StorageError: it cannot be read, or has another length.
    """
    part: Any = {"Range": byte_range} if byte_range else {}
    send = functools.partial(client().get_object, Bucket=STORE.bucket_name, Key=key, **part)
    response = request(key, send)
    found = response.get("ContentLength", -1)
    if length not in (None, found):
        response["Body"].close()
        raise StorageError(f"object {key}: {found} bytes instead of {length}")
    return response["Body"]


def size_of(key: str) -> int:
    """The bytes of an object; -1 if object storage does not say it.

    Raises:
        Missing: there is no such object.
        StorageError: object storage is out of reach, or refuses.
    """
    return request(key, functools.partial(STORE.size, key))


def check(key: str, size: int) -> None:
    """Returns if the object exists and has this size in bytes: objects never change.

    Raises:
        StorageError: it does not, or object storage is out of reach.
    """
    if (found := size_of(key)) != size:
        raise StorageError(f"object {key}: {found} bytes instead of {size}")


def read(key: str) -> Generator[bytes, None, None]:
    """The bytes of an object in chunks, whatever its length.

    Raises:
        Missing: there is no such object.
        StorageError: it cannot be read, or not to its end.
    """
    with contextlib.closing(open_object(key)) as body:
        try:
            yield from body.iter_chunks(CHUNK_SIZE)
        except (BotoCoreError, HTTPError) as exc:
            raise OutOfReach(f"object {key}: {exc}") from exc


def save(content: IO[bytes], key: str | None = None) -> str:
    """Writes a whole file to a new object; returns its key. Objects are never overwritten.

    Args:
        key: of the object; without it, a random one.

    Raises:
        StorageError: it cannot be written.
    """
    name = key or f"{uuid4().hex}.pdf"
    request(name, functools.partial(STORE.save, name, File(content)))
    return name


def delete(keys: Iterable[str]) -> None:
    """Deletes objects; ignores missing ones.

    Raises:
        StorageError: one could not be deleted; the text names it and the following ones.
    """
    left = list(keys)
    try:
        while left:
            request(left[0], functools.partial(STORE.delete, left[0]))
            left.pop(0)
    except StorageError as exc:
        named = ", ".join(left[:NAMED_KEYS]) + (" …" if len(left) > NAMED_KEYS else "")
        raise StorageError(f"up to {len(left):,} objects could not be deleted: {named}") from exc


def listed() -> Iterator[list[Any]]:
    """The objects in the bucket whose keys are as this service makes them, in pages.

    Raises:
        StorageError: object storage is out of reach, or refuses.
    """
    pages = STORE.bucket.objects.pages()
    while page := request(BUCKET, functools.partial(next, pages, None), again=False):
        yield [each for each in page if _OURS.fullmatch(each.key)]


def signed_url(key: str, seconds: int) -> str:
    """A URL that gives its holder access to the object for so many seconds.

    Raises:
        StorageError: there are no keys to sign it with.
    """
    return str(request(key, functools.partial(STORE.url, key, expire=seconds)))


def check_bucket() -> None:
    """Returns if the bucket can be reached with our keys.

    Raises:
        StorageError: it cannot.
    """
    request(BUCKET, functools.partial(client().head_bucket, Bucket=STORE.bucket_name))


def probe() -> None:
    """Writes an object, reads it and a part of it, and deletes it.

    Raises:
        StorageError: one of these does not work.
    """
    content = b"written by manage.py check"
    key = save(BytesIO(content), f"check/{uuid4().hex}")
    try:
        for byte_range, expected in ((None, content), ("bytes=3-9", content[3:10])):
            with contextlib.closing(open_object(key, len(expected), byte_range)) as body:
                if body.read() != expected:
                    raise StorageError(f"object {key}: other bytes than were written")
    finally:
        delete([key])
