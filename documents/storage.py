"""Object storage for the PDFs; only this module knows S3.

Objects are saved, deleted and measured through Django's storage API. They are read with boto3's
client, since django-storages' file object would copy a whole object before its first byte.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterable
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files import File
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

# Seconds, as in deploy/downloads.conf. A request to an unresponsive server fails within six.
CONNECT_TIMEOUT = 2
READ_TIMEOUT = 4  # without a byte
AT_ONCE = 1  # a request that fails sooner is sent again: its kept connection may have died
CHUNK_SIZE = 180 * 1024  # bytes; with 64 KiB the throughput is a fifth lower
NAMED_KEYS = 20  # of objects that could not be deleted
BUCKET = "(the bucket)"  # in messages, in the place of an object's key

CLIENT_CONFIG = Config(
    signature_version="s3v4",
    # Fixed, since boto3 otherwise builds it for each request (10 % of its CPU time).
    user_agent="document-read-api",
    s3={"addressing_style": "path"},
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    max_pool_connections=64,  # a thread's download holds one until its last byte
    retries={"total_max_attempts": 1},  # see `request`
    # Some servers send the whole object's checksum with a part of it.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


class StorageError(Exception):
    """Object storage is out of reach, refuses, or has no such object."""


class Missing(StorageError):
    """Object storage has no such object."""


class OutOfReach(StorageError):
    """Object storage does not respond, breaks off, or responds with a 5xx."""


class PdfStorage(S3Storage):  # type: ignore[misc] # it has no types
    """The project's default storage (`STORAGES`), with our client configuration.

    django-storages makes boto3 build a class for each object (1 ms). Saving and sizes, which are
    frequent, do without.
    """

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "client_config": CLIENT_CONFIG}

    @functools.cached_property
    def connection(self) -> Any:
        """One for all threads: each client takes 17 MB. The first use must not be in several."""
        return super().connection

    def _save(self, name: str, content: Any) -> str:
        content.seek(0)
        self.connection.meta.client.put_object(
            Bucket=self.bucket_name, Key=name, Body=content.file, ContentType="application/pdf"
        )
        return name

    def size(self, name: str) -> int:
        """The bytes of an object; -1 if object storage does not say it."""
        found = self.connection.meta.client.head_object(Bucket=self.bucket_name, Key=name)
        return int(found.get("ContentLength", -1))


_store: PdfStorage = default_storage  # type: ignore[assignment]


def client() -> "S3Client":
    """boto3's client, the same for all threads."""
    made: S3Client = _store.connection.meta.client
    return made


def request(key: str, send: Callable[[], T], *, again: bool = True) -> T:
    """Sends a request about an object. There is a second try only if the first fails at once.

    Raises:
        Missing: there is no such object.
        OutOfReach: it failed.
        StorageError: object storage refuses it.
    """
    started = time.monotonic()
    try:
        return send()
    except (ClientError, BotoCoreError, HTTPError, ValueError) as exc:
        error = _error(key, exc)
        failed_at_once = isinstance(error, OutOfReach) and time.monotonic() - started < AT_ONCE
        if not (again and failed_at_once):
            raise error from exc
    return request(key, send, again=False)


def _error(key: str, exc: Exception) -> StorageError:
    """What an error of boto3 means."""
    if not isinstance(exc, ClientError):  # a ValueError is a length that is no number
        return OutOfReach(f"object {key}: {exc}")
    metadata = exc.response["ResponseMetadata"]
    text = f"object {key}: HTTP {metadata['HTTPStatusCode']}: {exc}"
    region = metadata["HTTPHeaders"].get("x-amz-bucket-region")
    if region not in (None, client().meta.region_name):
        text += f"; the bucket is in {region}, so set S3_REGION to that"
    if metadata["HTTPStatusCode"] >= 500:
        return OutOfReach(text)
    # A missing bucket is a 404 too, but the response to a HEAD does not say what is missing.
    what = (exc.operation_name, exc.response["Error"]["Code"])
    missing = what[1] == "NoSuchKey" or what == ("HeadObject", "404")
    return (Missing if missing else StorageError)(text)


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
    send = functools.partial(client().get_object, Bucket=_store.bucket_name, Key=key, **part)
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
    return request(key, functools.partial(_store.size, key))


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


def new_key() -> str:
    """A random key for a new object."""
    return f"{uuid4().hex}.pdf"


def save(content: IO[bytes], key: str | None = None) -> str:
    """Writes a whole file to a new object; returns its key. Objects are never overwritten.

    Args:
        key: from `new_key`, if the caller must know it even if writing fails.

    Raises:
        StorageError: it cannot be written.
    """
    name = key or new_key()
    request(name, functools.partial(_store.save, name, File(content)))
    return name


def delete(keys: Iterable[str]) -> None:
    """Deletes objects; ignores missing ones.

    Raises:
        StorageError: one could not be deleted; the text names it and the following ones.
    """
    left = list(keys)
    try:
        while left:
            request(left[0], functools.partial(_store.delete, left[0]))
            left.pop(0)
    except StorageError as exc:
        named = ", ".join(left[:NAMED_KEYS]) + (" …" if len(left) > NAMED_KEYS else "")
        raise StorageError(f"up to {len(left):,} objects could not be deleted: {named}") from exc


def signed_url(key: str, seconds: int) -> str:
    """A URL that gives its holder access to the object for so many seconds."""
    return str(_store.url(key, expire=seconds))


def check_bucket() -> None:
    """Returns if the bucket can be reached with our keys.

    Raises:
        StorageError: it cannot.
    """
    request(BUCKET, functools.partial(client().head_bucket, Bucket=_store.bucket_name))


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
