"""The store of the PDFs; the only module that knows it is S3.

django-storages keeps the settings and the connection. Reading goes straight to boto3's body:
django-storages' file object copies a whole object before its first byte.
"""

import contextlib
import functools
import threading
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

# Bytes. 64 KiB cost a fifth of the throughput; 32 downloads at once hold about six chunks each in
# memory, and with 240 KiB they can add more than 64 MB (`python -m bench.downloads`).
CHUNK_SIZE = 180 * 1024
CONNECT_TIMEOUT = 3  # seconds
READ_TIMEOUT = 5  # seconds without a byte from the store; as long as deploy/nginx.conf waits
# The second one is for a kept connection that has died unseen. A silent store is given up after
# eleven seconds: twice READ_TIMEOUT, and up to one second between the tries.
TRIES = 2


CLIENT_CONFIG = Config(
    signature_version="s3v4",
    # In the store's log; the text that boto3 makes for each request is a tenth of its work.
    user_agent="document-read-api",
    s3={"addressing_style": "path"},
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    # A connection for each thread: a download holds one until its last byte. Imports use ten.
    max_pool_connections=max(10, settings.SERVER_THREADS),
    retries={"mode": "standard", "total_max_attempts": TRIES},
    # Some stores send the whole object's checksum with a part of it.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)


class StoreError(Exception):
    """The store is out of reach, refuses, or has no such object."""


class PdfStorage(S3Storage):  # type: ignore[misc] # it has no types
    """The project's default storage (`STORAGES`): how every connection to the store behaves."""

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "client_config": CLIENT_CONFIG}


_making = threading.Lock()


def _client() -> "S3Client":
    """One client for all threads, also when they first ask at once: each takes 17 MB for good."""
    with _making:
        return _make_client()


@functools.cache
def _make_client() -> "S3Client":
    client: S3Client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    return client


def prepare() -> None:
    """Makes the client, so that no download waits for that; asks nothing of the store."""
    _client()


def _bucket() -> str:
    bucket: str = default_storage.bucket_name  # type: ignore[attr-defined]
    return bucket


class OpenObject:
    """An object, or a part of one, being read: iterate over its bytes once, and close it.

    Attributes:
        length: bytes that it has.
    """

    def __init__(self, body: Any, length: int) -> None:
        self._body = body
        self.length = length

    def __iter__(self) -> Iterator[bytes]:
        """The bytes in chunks. A store that breaks off raises, never ends early.

        boto3's own `iter_chunks` keeps each chunk until it has the next one.
        """
        return iter(functools.partial(self._body.read, CHUNK_SIZE), b"")

    def close(self) -> None:
        """Gives the connection back, or drops it when bytes are left."""
        self._body.close()


@contextlib.contextmanager
def _as_store_error(key: str) -> Iterator[None]:
    """Whatever boto3 raises for an object, as StoreError."""
    try:
        yield
    except (BotoCoreError, ClientError, HTTPError) as exc:
        raise StoreError(f"object {key}: {exc}") from exc


def check(key: str, size: int) -> None:
    """Returns when the object is there and has this size in bytes.

    Raises:
        StoreError: it has not, or cannot be asked.
    """
    with _as_store_error(key):
        answer = _client().head_object(Bucket=_bucket(), Key=key)
    _expect(key, answer["ContentLength"], size)


def open_object(key: str, length: int, byte_range: str | None = None) -> OpenObject:
    """Opens an object, or a part of it, that has `length` bytes.

    Its headers have arrived when this returns, its bytes have not.

    Args:
        byte_range: the Range header that asks for the part.

    Raises:
        StoreError: it cannot be read, or is not what was stored.
    """
    requested: Any = {"Range": byte_range} if byte_range else {}
    with _as_store_error(key):
        answer = _client().get_object(Bucket=_bucket(), Key=key, **requested)
    opened = OpenObject(answer["Body"], answer["ContentLength"])
    try:
        _expect(key, opened.length, length)
    except StoreError:
        opened.close()
        raise
    return opened


def _expect(key: str, found: int, expected: int) -> None:
    """An object never changes: another size means that it is damaged, and it is not sent."""
    if found != expected:
        raise StoreError(f"object {key}: {found} bytes instead of {expected}")


def signed_url(key: str, seconds: int) -> str:
    """A URL by which whoever holds it can read the object, for so many seconds."""
    return _client().generate_presigned_url(
        "get_object", Params={"Bucket": _bucket(), "Key": key}, ExpiresIn=seconds
    )


def new_key() -> str:
    """A key for a new object, which nobody can guess and names no person."""
    return f"{uuid4().hex}.pdf"


def save(content: IO[bytes], key: str | None = None) -> str:
    """Writes a new object and returns its key.

    Nothing is ever overwritten: every object has a key of its own.

    Args:
        key: from `new_key`, for a caller that must know it even when writing breaks off.

    Raises:
        StoreError: it cannot be written.
    """
    key = key or new_key()
    with _as_store_error(key):
        _client().put_object(Bucket=_bucket(), Key=key, Body=content, ContentType="application/pdf")
    return key


def delete(keys: Iterable[str]) -> None:
    """Removes objects; one that is not there is fine.

    Raises:
        StoreError: the store is out of reach or refuses.
    """
    for key in keys:
        with _as_store_error(key):
            _client().delete_object(Bucket=_bucket(), Key=key)
