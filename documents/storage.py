"""Object storage for the PDFs; only this module knows S3.

django-storages has the settings and the connection. Its file object would copy a whole object
before the first byte is read, so objects are read with boto3's client.
"""

import contextlib
import functools
import time
from collections.abc import Callable, Generator, Iterable
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

# Seconds, as in deploy/downloads.conf. A request to an unresponsive server fails within five.
CONNECT_TIMEOUT = 2
READ_TIMEOUT = 4  # without a byte
AT_ONCE = 1  # a request that fails sooner is sent again: its kept connection may have died
CHUNK_SIZE = 180 * 1024  # bytes; with 64 KiB the throughput is a fifth lower
DELETED_AT_ONCE = 1000  # objects; S3 allows no more
NAMED_KEYS = 20  # of objects that could not be deleted

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
    """The project's default storage (`STORAGES`), with our client configuration."""

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "client_config": CLIENT_CONFIG}


@functools.cache
def client() -> "S3Client":
    """One client for all threads. The first call makes it, and must come before there are others:
    each client takes 17 MB."""
    made: S3Client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    return made


def bucket() -> str:
    name: str = default_storage.bucket_name  # type: ignore[attr-defined]
    return name


def request(key: str, send: Callable[[], T]) -> T:
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
        metadata = exc.response["ResponseMetadata"]
        status = metadata["HTTPStatusCode"]
        text = f"object {key}: HTTP {status}: {exc}"
        region = metadata["HTTPHeaders"].get("x-amz-bucket-region")
        if region not in (None, client().meta.region_name):
            text += f"; the bucket is in {region}, so set S3_REGION to that"
        if status >= 500:
            raise OutOfReach(text) from exc
        # A missing bucket is a 404 too.
        missing = exc.response["Error"]["Code"] == "NoSuchKey"
        raise (Missing if missing else StorageError)(text) from exc
    except (BotoCoreError, HTTPError, ValueError) as exc:  # ValueError: a length that is no number
        raise OutOfReach(f"object {key}: {exc}") from exc


def open_object(key: str, length: int, byte_range: str | None = None) -> "StreamingBody":
    """The body of an object, or of a part of it, that has `length` bytes; the caller closes it.

    When this returns, its headers have arrived but its bytes have not.

    Args:
        byte_range: the value of the Range header for the part.

    Raises:
        StorageError: it cannot be read, or has another length.
    """
    part: Any = {"Range": byte_range} if byte_range else {}
    send = functools.partial(client().get_object, Bucket=bucket(), Key=key, **part)
    response = request(key, send)
    try:
        _check_length(key, response.get("ContentLength", -1), length)
    except StorageError:
        response["Body"].close()
        raise
    return response["Body"]


def check(key: str, size: int) -> None:
    """Returns if the object exists and has this size in bytes.

    Raises:
        StorageError: it does not, or object storage is out of reach.
    """
    send = functools.partial(client().head_object, Bucket=bucket(), Key=key)
    _check_length(key, request(key, send).get("ContentLength", -1), size)


def _check_length(key: str, found: int, expected: int) -> None:
    """Objects never change, so another size means damage."""
    if found != expected:
        raise StorageError(f"object {key}: {found} bytes instead of {expected}")


def read(key: str) -> Generator[bytes, None, None]:
    """The bytes of an object in chunks, whatever its length. Always tries, unlike a download.

    Raises:
        Missing: there is no such object.
        StorageError: it cannot be read, or not to its end.
    """
    send = functools.partial(client().get_object, Bucket=bucket(), Key=key)
    with contextlib.closing(request(key, send)["Body"]) as body:
        try:
            yield from body.iter_chunks(CHUNK_SIZE)
        except (BotoCoreError, HTTPError) as exc:
            raise OutOfReach(f"object {key}: {exc}") from exc


def check_bucket() -> None:
    """Returns if the bucket can be reached with our keys.

    Raises:
        StorageError: it cannot.
    """
    request("(the bucket)", functools.partial(client().head_bucket, Bucket=bucket()))


def is_public(key: str | None) -> bool:
    """Whether anyone can list the bucket, or read this object, without a key.

    Raises:
        OutOfReach: object storage does not respond.
    """
    config = CLIENT_CONFIG.merge(Config(signature_version=UNSIGNED))
    anyone = PdfStorage(**settings.STORAGES["default"]["OPTIONS"], client_config=config)
    requests = [functools.partial(anyone.connection.meta.client.list_objects_v2, MaxKeys=1)]
    if key is not None:
        requests.append(functools.partial(anyone.connection.meta.client.head_object, Key=key))
    for send in requests:
        try:
            request(key or "(the bucket)", functools.partial(send, Bucket=bucket()))
        except OutOfReach:
            raise
        except StorageError:
            continue  # refused, as it should be
        return True
    return False


def clock_ahead() -> float:
    """Seconds that the clock of object storage is ahead of ours, also if it refuses our keys.

    Raises:
        StorageError: it is out of reach, or says no time.
    """

    def send() -> Any:
        try:
            return client().head_bucket(Bucket=bucket())["ResponseMetadata"]
        except ClientError as exc:
            return exc.response["ResponseMetadata"]

    date = request("(the bucket)", send)["HTTPHeaders"].get("date", "")
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError as exc:
        raise StorageError(f"object storage sends no time, but {date!r}") from exc


def probe() -> None:
    """Writes an object, reads it and a part of it, and deletes it.

    Raises:
        StorageError: one of these does not work.
    """
    key, content = f"doctor/{uuid4().hex}", b"written by manage.py doctor"
    save(BytesIO(content), key)
    try:
        for byte_range, expected in ((None, content), ("bytes=3-9", content[3:10])):
            with contextlib.closing(open_object(key, len(expected), byte_range)) as body:
                if body.read() != expected:
                    raise StorageError(f"object {key}: other bytes than were written")
    finally:
        delete([key])


def signed_url(key: str, seconds: int) -> str:
    """A URL that gives its holder access to the object for so many seconds."""
    return client().generate_presigned_url(
        "get_object", Params={"Bucket": bucket(), "Key": key}, ExpiresIn=seconds
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
        client().put_object(Bucket=bucket(), Key=name, Body=content, ContentType="application/pdf")

    request(name, send)
    return name


def delete(keys: Iterable[str]) -> None:
    """Deletes objects; ignores missing ones.

    Raises:
        StorageError: some could not be deleted; the text names the first of them.
    """
    left = list(keys)
    failed: list[str] = []
    try:
        while left:
            objects: Any = [{"Key": key} for key in left[:DELETED_AT_ONCE]]
            which: Any = {"Objects": objects, "Quiet": True}
            send = functools.partial(client().delete_objects, Bucket=bucket(), Delete=which)
            failed += [error["Key"] for error in request(left[0], send).get("Errors", [])]
            left = left[DELETED_AT_ONCE:]
    except StorageError:
        failed += left
    if failed:
        named = ", ".join(failed[:NAMED_KEYS]) + (" …" if len(failed) > NAMED_KEYS else "")
        raise StorageError(f"up to {len(failed):,} objects could not be deleted: {named}")
