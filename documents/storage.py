"""Object storage for the PDFs; only this module and `documents.storage_reading` know S3.

django-storages has the settings and the connection. Its file object would copy a whole object
before the first byte is read.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterable
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

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


_making = threading.Lock()


def client() -> "S3Client":
    """One client for all threads. The lock prevents a second one, which takes 17 MB."""
    with _making:
        return _make_client()


@functools.cache
def _make_client() -> "S3Client":
    made: S3Client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    return made


def prepare() -> None:
    """Makes the client, so that no download waits for it. Sends no request."""
    client()


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
        if exc.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise OutOfReach(f"object {key}: {exc}") from exc
        # A missing bucket is a 404 too.
        missing = exc.response["Error"]["Code"] == "NoSuchKey"
        raise (Missing if missing else StorageError)(f"object {key}: {exc}") from exc
    except (BotoCoreError, HTTPError) as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc


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
        functools.partial(anonymous.list_objects_v2, Bucket=bucket(), MaxKeys=1)
    ]
    if key is not None:
        requests.append(functools.partial(anonymous.head_object, Bucket=bucket(), Key=key))
    return any(map(_succeeds, requests))


def _succeeds(request: Callable[[], Any]) -> bool:
    try:
        request()
    except ClientError:
        return False
    except (BotoCoreError, HTTPError) as exc:
        raise StorageError(str(exc)) from exc
    return True


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
        StorageError: object storage is out of reach or refuses.
    """
    for key in keys:
        request(key, functools.partial(client().delete_object, Bucket=bucket(), Key=key))
