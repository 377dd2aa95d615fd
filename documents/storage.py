"""The PDFs in object storage, Django's default storage (`STORAGES`).

boto3 writes, lists and deletes. For reading, its operations need twice the processor time of a
request that is signed and sent with parts of botocore.

Each function raises a StorageError, or one of its kinds, if object storage cannot do it.
"""

import contextlib
import functools
import hashlib
import re
import time
from base64 import b64encode
from collections.abc import Callable, Generator, Iterable, Iterator
from io import BufferedReader, BytesIO
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import RestXMLParser
from botocore.response import StreamingBody
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
USER_AGENT = "document-read-api"  # boto3 would build one for each request

CLIENT_CONFIG = Config(
    signature_version="s3v4",
    user_agent=USER_AGENT,
    s3={"addressing_style": "path"},
    connect_timeout=CONNECT_TIMEOUT,
    read_timeout=READ_TIMEOUT,
    max_pool_connections=64,  # a thread's download holds one until its last byte
    retries={"total_max_attempts": 1},  # see `with_one_retry`
    # Some servers send the whole object's checksum with a part of it.
    request_checksum_calculation="when_required",
    response_checksum_validation="when_required",
)

# Where an object can be listed and measured, but not read.
ARCHIVES = {"GLACIER", "DEEP_ARCHIVE", "ARCHIVE_ACCESS", "DEEP_ARCHIVE_ACCESS"}
CHUNK_SIZE = 180 * 1024  # bytes; with 64 KiB the throughput is a fifth lower
BUCKET = "(the bucket)"  # in messages, in the place of an object's key
_parser: Any = RestXMLParser()  # of S3's errors
_OURS = re.compile(r"[0-9a-f]{32}\.pdf|check/[0-9a-f]{32}")  # keys, as `save` and `probe` make them


class StorageError(Exception):
    """Object storage is out of reach, refuses, or has no such object."""


class Missing(StorageError):
    """Object storage has no such object."""


class Archived(StorageError):
    """The object has to be restored from an archive before it can be read."""


class OutOfReach(StorageError):
    """Object storage does not respond, breaks off, or responds with a 5xx."""


class PdfStorage(S3Storage):  # type: ignore[misc] # it has no types
    """django-storages makes boto3 build a class for each object (1 ms). This one does without."""

    def get_default_settings(self) -> dict[str, Any]:
        return {**super().get_default_settings(), "client_config": CLIENT_CONFIG}

    @functools.cached_property
    def connection(self) -> Any:
        """One for all threads: each client takes 17 MB. A server makes it before it has several."""
        return super().connection

    def put(self, name: str, content: BufferedReader | BytesIO, **options: str) -> None:
        """Writes an object, with its digest: a bucket with object lock refuses one without.

        The options are those of S3's PutObject.
        """
        content.seek(0)
        md5 = hashlib.file_digest(content, functools.partial(hashlib.md5, usedforsecurity=False))
        content.seek(0)
        options |= {"ContentMD5": b64encode(md5.digest()).decode(), **self.object_parameters}
        self.connection.meta.client.put_object(
            Bucket=self.bucket_name, Key=name, Body=content, **options
        )


STORE: PdfStorage = default_storage  # type: ignore[assignment]


def client() -> "S3Client":
    """boto3's client, the same for all threads."""
    made: S3Client = STORE.connection.meta.client
    return made


def _signed(auth: type[SigV4Auth], request: AWSRequest, *expires: int) -> AWSRequest:
    found = client()._get_credentials()  # type: ignore[attr-defined]
    # A machine's role may have to get new keys here. Signing refuses None.
    keys: Any = found.get_frozen_credentials() if found else None
    auth(keys, "s3", STORE.region_name, *expires).add_auth(request)
    return request


def _url_of(key: str) -> str:
    return f"{STORE.endpoint_url}/{STORE.bucket_name}/{quote(key)}"


def _send(method: str, key: str, **headers: str) -> AWSResponse:
    """Sends a GET or a HEAD. The body of a GET's response has not arrived.

    The signature is in a header: no URL, which a log may have, gives access. The connections are
    those of boto3's client, with its proxies, certificates and time-outs.
    """
    headers |= {"User-Agent": USER_AGENT}
    request = AWSRequest(method, _url_of(key), headers, stream_output=method == "GET")
    connections = client()._endpoint.http_session  # type: ignore[attr-defined]
    response: AWSResponse = connections.send(_signed(S3SigV4Auth, request).prepare())
    status = response.status_code
    if status >= 300:
        refusal = {"status_code": status, "headers": response.headers, "body": response.content}
        error = _parser.parse(refusal, None)
        raise ClientError(error, f"{method.capitalize()}Object")
    return response


def _length(response: AWSResponse) -> int:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else -1


def with_one_retry(key: str, send: Callable[[], T]) -> T:
    """Sends a request about an object, and once more if that fails at once."""
    started = time.monotonic()
    try:
        with errors_about(key):
            return send()
    except OutOfReach:
        if time.monotonic() - started >= AT_ONCE:
            raise
    with errors_about(key):
        return send()


@contextlib.contextmanager
def errors_about(key: str) -> Iterator[None]:
    """Raises a StorageError instead of an error of boto3."""
    try:
        yield
    except (ClientError, BotoCoreError, HTTPError) as exc:
        raise _error(key, exc) from exc


def _error(key: str, exc: Exception) -> StorageError:
    if not isinstance(exc, ClientError):
        return OutOfReach(f"object {key}: {exc}")
    metadata = exc.response["ResponseMetadata"]
    details = exc.response.get("Error", {})
    text = f"object {key}: HTTP {metadata['HTTPStatusCode']}: {exc}"
    region = metadata["HTTPHeaders"].get("x-amz-bucket-region") or details.get("Region")
    if region not in (None, STORE.region_name):
        text += f"; the bucket is in {region}, so set S3_REGION to that"
    if metadata["HTTPStatusCode"] >= 500:
        return OutOfReach(text)
    code = details.get("Code")
    if code == "InvalidObjectState":
        return Archived(text)
    # A missing bucket is a 404 too, but the response to a HEAD does not say what is missing.
    missing = code == "NoSuchKey" or (exc.operation_name, code) == ("HeadObject", "404")
    return (Missing if missing else StorageError)(text)


def open_object(
    key: str, length: int | None = None, byte_range: str | None = None
) -> StreamingBody:
    """The body of an object, or of a part of it, that has `length` bytes; the caller closes it.

    When this returns, its headers have arrived but its bytes have not.

    Args:
        length: None if any length is right.
        byte_range: the value of the Range header for the part.
    """
    headers = {"Range": byte_range} if byte_range else {}
    response = with_one_retry(key, lambda: _send("GET", key, **headers))
    found = _length(response)
    body = StreamingBody(response.raw, found if found >= 0 else None)  # type: ignore[arg-type]
    if length not in (None, found):
        body.close()
        raise StorageError(f"object {key}: {found} bytes instead of {length}")
    return body


def size_of(key: str) -> int:
    """The bytes of an object that can be read; -1 if object storage does not say it."""
    response = with_one_retry(key, lambda: _send("HEAD", key))
    headers = response.headers
    archive = headers.get("x-amz-archive-status") or headers.get("x-amz-storage-class")
    restored = 'ongoing-request="false"' in headers.get("x-amz-restore", "")
    if archive in ARCHIVES and not restored:
        raise Archived(f"object {key}: it is archived ({archive})")
    return _length(response)


def require(key: str, size: int) -> None:
    """Raises StorageError unless the object exists and has this size, in bytes."""
    if (found := size_of(key)) != size:
        raise StorageError(f"object {key}: {found} bytes instead of {size}")


def read(key: str) -> Generator[bytes, None, None]:
    with contextlib.closing(open_object(key)) as body, errors_about(key):
        yield from body.iter_chunks(CHUNK_SIZE)


def save(content: BufferedReader | BytesIO, key: str | None = None) -> str:
    """Writes a whole file to a new object; returns its key, which is random if none is given."""
    name = key or f"{uuid4().hex}.pdf"
    with_one_retry(name, lambda: STORE.put(name, content, ContentType="application/pdf"))
    return name


def delete(keys: Iterable[str]) -> None:
    """Deletes objects; ignores missing ones. If one cannot be deleted, the following ones stay."""
    for key in keys:
        with_one_retry(key, functools.partial(STORE.delete, key))


def listed() -> Iterator[list[Any]]:
    """The objects in the bucket whose keys are as this service makes them, in pages."""
    with errors_about(BUCKET):
        for page in STORE.bucket.objects.pages():
            yield [each for each in page if _OURS.fullmatch(each.key)]


def signed_url(key: str, seconds: int) -> str:
    unsigned = AWSRequest("GET", _url_of(key))
    # Nothing is sent, unless a machine's role has to get new keys.
    return str(with_one_retry(key, lambda: _signed(S3SigV4QueryAuth, unsigned, seconds)).url)


def check_bucket() -> None:
    """Raises StorageError unless the bucket can be reached with our keys."""
    with_one_retry(BUCKET, lambda: client().head_bucket(Bucket=STORE.bucket_name))


def probe() -> None:
    """Writes an object, reads it and a part of it, and deletes it."""
    content = b"written by manage.py check"
    key = save(BytesIO(content), f"check/{uuid4().hex}")
    try:
        for byte_range, expected in ((None, content), ("bytes=3-9", content[3:10])):
            with contextlib.closing(open_object(key, len(expected), byte_range)) as body:
                if body.read() != expected:
                    raise StorageError(f"object {key}: other bytes than were written")
    finally:
        delete([key])
