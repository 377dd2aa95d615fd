"""Object storage as Django's default storage, by boto3, and what its errors mean."""

import functools
import hashlib
import time
from base64 import b64encode
from collections.abc import Callable
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.storage import default_storage
from storages.backends.s3 import S3Storage
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

T = TypeVar("T")

# Seconds, as in deploy/downloads.conf. A request to an unresponsive server fails within six.
CONNECT_TIMEOUT = 2
READ_TIMEOUT = 4  # without a byte
AT_ONCE = 1  # a request that fails sooner is sent again: its kept connection may have died

# Where an object can be listed and measured, but not read.
ARCHIVES = {"GLACIER", "DEEP_ARCHIVE", "ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"}

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


class Archived(StorageError):
    """The object has to be restored from an archive before it can be read."""


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
        self.put(name, content.file, ContentType="application/pdf")
        return name

    def put(self, name: str, content: BufferedReader | BytesIO, **options: str) -> None:
        """Writes an object, with its digest: a bucket with object lock refuses one without.

        Args:
            options: of S3's PutObject.
        """
        content.seek(0)
        md5 = hashlib.file_digest(content, functools.partial(hashlib.md5, usedforsecurity=False))
        content.seek(0)
        options |= {"ContentMD5": b64encode(md5.digest()).decode(), **self.object_parameters}
        self.connection.meta.client.put_object(
            Bucket=self.bucket_name, Key=name, Body=content, **options
        )

    def size(self, name: str) -> int:
        """The bytes of an object that can be read; -1 if object storage does not say it.

        Raises:
            Archived: it has no copy outside of the archive.
        """
        found = self.connection.meta.client.head_object(Bucket=self.bucket_name, Key=name)
        archive = found.get("ArchiveStatus") or found.get("StorageClass")
        if archive in ARCHIVES and 'ongoing-request="false"' not in found.get("Restore", ""):
            raise Archived(f"object {name}: it is archived ({archive})")
        return int(found.get("ContentLength", -1))


STORE: PdfStorage = default_storage  # type: ignore[assignment]


def client() -> "S3Client":
    """boto3's client, the same for all threads."""
    made: S3Client = STORE.connection.meta.client
    return made


def request(key: str, send: Callable[[], T], *, again: bool = True) -> T:
    """Sends a request about an object. There is a second try only if the first fails at once.

    Raises:
        Missing: there is no such object.
        Archived: it cannot be read now.
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
    if what[1] == "InvalidObjectState":
        return Archived(text)
    missing = what[1] == "NoSuchKey" or what == ("HeadObject", "404")
    return (Missing if missing else StorageError)(text)
