"""Reads objects of the object storage (`documents.storage`).

botocore signs and sends each request as the client does: with its keys, region, time-outs, proxies,
certificates and kept connections. The rest of a call of the client takes twice as much processor
time as that, and each download would wait for it.
"""

import functools
import re
from collections.abc import Callable, Generator, Iterator
from typing import Any
from urllib.parse import quote

from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError
from botocore.response import StreamingBody
from urllib3.exceptions import HTTPError

from config.breaker import Breaker, BreakerOpen
from documents import storage
from documents.storage import OutOfReach, StorageError

# Bytes. With 64 KiB the throughput is a fifth lower. 32 concurrent downloads hold about six chunks
# each in memory; with 240 KiB they can add more than 64 MB.
CHUNK_SIZE = 180 * 1024
ERROR_SIZE = 16 * 1024  # bytes of an error response that are read
_ERROR_CODE = re.compile(rb"<Code>(\w+)</Code>")

_breaker = Breaker("object storage", failures=3)


class OpenObject:
    """An open object, or a part of one: iterate over its bytes once, and close it.

    Attributes:
        length: bytes.
    """

    def __init__(self, response: AWSResponse, length: int) -> None:
        self._body = StreamingBody(response.raw, length)
        self.length = length

    def __iter__(self) -> Iterator[bytes]:
        """The bytes in chunks, as they are stored; raises if the server breaks off."""
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


def open_object(key: str, length: int, byte_range: str | None = None) -> OpenObject:
    """Opens an object, or a part of it, that has `length` bytes.

    When this returns, its headers have arrived but its bytes have not.

    Args:
        byte_range: the value of the Range header for the part.

    Raises:
        StorageError: it cannot be read, or has another length.
    """
    response = _unless_failing(key, functools.partial(_send, "GET", key, byte_range))
    return OpenObject(response, _length(key, response, length))


def check(key: str, size: int) -> None:
    """Returns if the object exists and has this size in bytes.

    Raises:
        StorageError: it does not, or object storage is out of reach.
    """
    response = _unless_failing(key, functools.partial(_send, "HEAD", key))
    response.raw.drain_conn()
    _length(key, response, size)


def check_bucket() -> None:
    """Returns if the bucket can be reached with our keys.

    Raises:
        StorageError: it cannot.
    """
    storage.request("(the bucket)", functools.partial(_send, "HEAD")).raw.drain_conn()


def read(key: str) -> Generator[bytes, None, None]:
    """The bytes of an object in chunks, whatever its length. Always tries, unlike a download.

    Raises:
        Missing: there is no such object.
        StorageError: it cannot be read, or not to its end.
    """
    response = storage.request(key, functools.partial(_send, "GET", key))
    opened = OpenObject(response, _length(key, response))
    try:
        yield from opened
    except (BotoCoreError, HTTPError) as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc
    finally:
        opened.close()


def _unless_failing(key: str, send: Callable[[], AWSResponse]) -> AWSResponse:
    """As `storage.request`, but fails at once while the last requests have failed."""
    try:
        with _breaker.call(OutOfReach):
            return storage.request(key, send)
    except BreakerOpen as exc:
        raise OutOfReach(f"object {key}: {exc}") from exc
    except OutOfReach:
        raise
    except StorageError:
        _breaker.succeeded()  # it responds
        raise


def _send(method: str, key: str | None = None, byte_range: str | None = None) -> AWSResponse:
    """Sends a request about an object, or about the bucket; the body is not read.

    Raises:
        ClientError: the response is an error or a redirect.
        BotoCoreError, HTTPError: there is no response.
    """
    client: Any = storage.client()
    path = storage.bucket() if key is None else f"{storage.bucket()}/{key}"
    url = f"{client.meta.endpoint_url.rstrip('/')}/{quote(path)}"
    headers = {"User-Agent": client.meta.config.user_agent}
    if byte_range:
        headers["Range"] = byte_range
    request = AWSRequest(method, url, headers, stream_output=True)
    region, version = client.meta.region_name, client.meta.config.signature_version
    client._request_signer.get_auth_instance("s3", region, version).add_auth(request)
    response: AWSResponse = client._endpoint.http_session.send(request.prepare())
    if response.status_code not in (200, 206):
        raise _error(method, response)
    return response


def _error(method: str, response: AWSResponse) -> ClientError:
    """An error response as boto3 has it. Its code is in XML; HEAD and proxies send none."""
    body = response.raw.read(ERROR_SIZE)
    response.raw.close()
    found, status = _ERROR_CODE.search(body), response.status_code
    message = f"HTTP {status}"
    region = response.headers.get("x-amz-bucket-region")
    if region not in (None, storage.client().meta.region_name):
        message += f"; the bucket is in {region}, so set S3_REGION to that"
    error = {"Code": found[1].decode() if found else f"{status}", "Message": message}
    details: Any = {"Error": error, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(details, method)


def _length(key: str, response: AWSResponse, expected: int | None = None) -> int:
    """The bytes of a response's body.

    Raises:
        StorageError: its Content-Length is missing, or not the expected one. Objects never change,
            so another size means damage.
    """
    try:
        found = int(response.headers.get("Content-Length", ""))
    except ValueError:
        found = -1
    if found < 0 or expected not in (None, found):
        response.raw.close()
        stated = "an unknown number of" if found < 0 else found
        raise StorageError(f"object {key}: {stated} bytes instead of {expected}")
    return found
