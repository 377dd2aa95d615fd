"""Object storage for the PDFs; the only module that knows S3.

django-storages has the settings and the connection. Objects are read with boto3, since
django-storages' file object copies a whole object before its first byte.
"""

import functools
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from django.conf import settings
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

from config.breaker import Breaker, BreakerOpen

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

# Bytes. With 64 KiB the throughput is a fifth lower. 32 concurrent downloads hold about six chunks
# each in memory; with 240 KiB they can add more than 64 MB (`python -m bench.downloads`).
CHUNK_SIZE = 180 * 1024
# Seconds. A request to an unresponsive server fails within five; deploy/nginx.conf has the same.
CONNECT_TIMEOUT = 2
READ_TIMEOUT = 4  # without a byte
AT_ONCE = 1  # a request that fails sooner is sent again: its kept connection may have died

CLIENT_CONFIG = Config(
    signature_version="s3v4",
    # Fixed, since boto3 otherwise builds it for each request (10 % of its CPU time).
    user_agent="document-read-api",
    s3={"addressing_style": "path"},
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    # A connection for each thread: a download holds one until its last byte. Imports use ten.
    max_pool_connections=max(10, settings.STREAMS + settings.DOWNLOAD_SLOTS),
    retries={"total_max_attempts": 1},  # see `_request`
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
    """The project's default storage (`STORAGES`), with our client configuration."""

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "client_config": CLIENT_CONFIG}


_breaker = Breaker("object storage", failures=3)
_making = threading.Lock()


def _client() -> "S3Client":
    """One client for all threads. The lock prevents a second one, which takes 17 MB."""
    with _making:
        return _make_client()


@functools.cache
def _make_client() -> "S3Client":
    client: S3Client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    return client


def prepare() -> None:
    """Makes the client, so that no download waits for it. Sends no request."""
    _client()


def _bucket() -> str:
    bucket: str = default_storage.bucket_name  # type: ignore[attr-defined]
    return bucket


class OpenObject:
    """An open object, or a part of one: iterate over its bytes once, and close it.

    Attributes:
        length: bytes.
    """

    def __init__(self, body: Any, length: int) -> None:
        self._body = body
        self.length = length

    def __iter__(self) -> Iterator[bytes]:
        """The bytes in chunks; raises if the server breaks off.

        boto3's own `iter_chunks` keeps each chunk until it has the next one.
        """
        return iter(self._chunk, b"")

    def _chunk(self) -> bytes:
        try:
            chunk: bytes = self._body.read(CHUNK_SIZE)
        except ReadTimeoutError:
            _breaker.failed()
            raise
        return chunk

    def close(self) -> None:
        """Returns the connection to the pool, or closes it if bytes are left."""
        self._body.close()


def _read(key: str, send: Callable[[], T]) -> T:
    """As `_request`, for downloads: fails at once while the last requests have failed."""
    try:
        with _breaker.call(OutOfReach):
            return _request(key, send)
    except BreakerOpen as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc


def _request(key: str, send: Callable[[], T]) -> T:
    """Sends a request about an object. There is a second try only if the first fails at once.

    Raises:
        OutOfReach: it failed.
        StorageError: object storage refuses it.
    """
    started = time.monotonic()
    try:
        return _try(key, send)
    except OutOfReach:
        if time.monotonic() - started > AT_ONCE:
            raise
    return _try(key, send)


def _try(key: str, send: Callable[[], T]) -> T:
    """Turns any error of boto3 into a StorageError."""
    try:
        return send()
    except ClientError as exc:
        if exc.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise OutOfReach(f"object {key}: {exc}") from exc
        _breaker.succeeded()  # it responds
        # A missing bucket is a 404 too.
        missing = exc.response["Error"]["Code"] == "NoSuchKey"
        raise (Missing if missing else StorageError)(f"object {key}: {exc}") from exc
    except (BotoCoreError, HTTPError) as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc


def check(key: str, size: int) -> None:
    """Returns if the object exists and has this size in bytes.

    Raises:
        StorageError: it does not, or object storage is out of reach.
    """
    response = _read(key, lambda: _client().head_object(Bucket=_bucket(), Key=key))
    _expect(key, response["ContentLength"], size)


def check_bucket() -> None:
    """Returns if the bucket can be reached with our keys.

    Raises:
        StorageError: it cannot.
    """
    _request("(the bucket)", lambda: _client().head_bucket(Bucket=_bucket()))


def open_object(key: str, length: int, byte_range: str | None = None) -> OpenObject:
    """Opens an object, or a part of it, that has `length` bytes.

    When this returns, its headers have arrived but its bytes have not.

    Args:
        byte_range: the value of the Range header for the part.

    Raises:
        StorageError: it cannot be read, or has another length.
    """
    requested: Any = {"Range": byte_range} if byte_range else {}
    response = _read(key, lambda: _client().get_object(Bucket=_bucket(), Key=key, **requested))
    opened = OpenObject(response["Body"], response["ContentLength"])
    try:
        _expect(key, opened.length, length)
    except StorageError:
        opened.close()
        raise
    return opened


def read(key: str) -> Generator[bytes, None, None]:
    """The bytes of an object in chunks, whatever its length. Always tries, unlike a download.

    Raises:
        Missing: there is no such object.
        StorageError: it cannot be read, or not to its end.
    """
    response = _request(key, lambda: _client().get_object(Bucket=_bucket(), Key=key))
    opened = OpenObject(response["Body"], response["ContentLength"])
    try:
        yield from opened
    except (BotoCoreError, HTTPError) as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc
    finally:
        opened.close()


def is_public(key: str | None) -> bool:
    """Whether anyone can list the bucket, or read this object, without a key.

    Raises:
        StorageError: object storage is out of reach.
    """
    options = settings.STORAGES["default"]["OPTIONS"]
    anonymous = boto3.client(
        "s3",
        endpoint_url=options["endpoint_url"],
        region_name=options["region_name"],
        config=CLIENT_CONFIG.merge(Config(signature_version=UNSIGNED)),
    )
    requests: list[Callable[[], Any]] = [
        functools.partial(anonymous.list_objects_v2, Bucket=_bucket(), MaxKeys=1)
    ]
    if key is not None:
        requests.append(functools.partial(anonymous.head_object, Bucket=_bucket(), Key=key))
    return any(map(_succeeds, requests))


def _succeeds(request: Callable[[], Any]) -> bool:
    try:
        request()
    except ClientError:
        return False
    except (BotoCoreError, HTTPError) as exc:
        raise StorageError(str(exc)) from exc
    return True


def _expect(key: str, found: int, expected: int) -> None:
    """Objects never change, so another size means damage."""
    if found != expected:
        raise StorageError(f"object {key}: {found} bytes instead of {expected}")


def signed_url(key: str, seconds: int) -> str:
    """A URL that gives its holder access to the object for so many seconds."""
    return _client().generate_presigned_url(
        "get_object", Params={"Bucket": _bucket(), "Key": key}, ExpiresIn=seconds
    )


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

    def send() -> None:
        content.seek(0)
        _client().put_object(
            Bucket=_bucket(), Key=name, Body=content, ContentType="application/pdf"
        )

    _request(name, send)
    return name


def delete(keys: Iterable[str]) -> None:
    """Deletes objects; ignores missing ones.

    Raises:
        StorageError: object storage is out of reach or refuses.
    """
    for key in keys:
        _request(key, functools.partial(_client().delete_object, Bucket=_bucket(), Key=key))
