"""Reading objects: what comes of every way in which object storage can fail."""

import gc
import io
import itertools
import os
import threading
import time
import traceback
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.management import CommandError, call_command

from audit.models import AuditEntry
from documents import storage
from documents.storage import Archived, Missing, OutOfReach, StorageError
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.nginx import make_certificate
from tests.support.proxy import HOST, Proxy

pytestmark = pytest.mark.slow

DEADLINE = 6  # seconds
CONTENT = b"%PDF-1.7" + bytes(range(256)) * 2000
Point = Callable[..., None]


def stored(content: bytes) -> str:
    """The key of a new object, which is deleted after the test."""
    factories.saved_objects.append(storage.save(io.BytesIO(content)))
    return factories.saved_objects[-1]


@pytest.fixture
def key() -> str:
    return stored(CONTENT)


def whole(key: str) -> bytes:
    return b"".join(storage.read(key))


class Recorder(ThreadingHTTPServer):
    """A server that keeps the requests and responds to each with "%PDF".

    Attributes:
        raw: what it sends instead.
        closes: whether it closes the connection after `raw`.
    """

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.url = f"http://{HOST}:{self.server_port}"
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.raw: bytes | None = None
        self.closes = False

    def handle_error(self, *args: object) -> None:
        """Nothing: a client that reads no further closes the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _respond(self) -> None:
        assert isinstance(self.server, Recorder)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.requestline, headers))
        if self.server.raw is not None:
            self.wfile.write(self.server.raw)
            self.close_connection = self.server.closes
            return
        self.send_response(200)
        self.send_header("Content-Length", "0" if self.command == "PUT" else "4")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(b"%PDF")

    do_GET = do_HEAD = _respond  # noqa: N815 - http.server's names

    def do_PUT(self) -> None:
        assert self.rfile.read(int(self.headers["Content-Length"])) == CONTENT
        self._respond()

    def log_message(self, *args: object) -> None:
        """Nothing: the tests have no use for it."""


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "AWS_CONFIG_FILE"])
def test_reading_over_https_accepts_only_certificates_that_it_is_told_to_trust(
    key: str, point: Point, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    make_certificate(tmp_path / "tls")
    certificate = tmp_path / "tls" / "certificate.pem"
    config = tmp_path / "config"
    config.write_text(f"[default]\nca_bundle = {certificate}\n")
    store = Proxy(os.environ["S3_ENDPOINT_URL"], certificate=tmp_path / "tls")
    try:
        point(endpoint_url=store.url)
        with pytest.raises(OutOfReach, match="certificate verify failed"):
            whole(key)
        monkeypatch.delenv("AWS_CA_BUNDLE", raising=False)  # it wins
        monkeypatch.setenv(variable, str(config if variable == "AWS_CONFIG_FILE" else certificate))
        point(endpoint_url=store.url)
        assert whole(key) == CONTENT
        storage.check_bucket()
    finally:
        store.stop()


def test_reading_uses_the_proxy_of_the_environment(
    recorder: Recorder, point: Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", recorder.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    point(endpoint_url="http://objects.example")
    assert (whole("a.pdf"), storage.size_of("a.pdf")) == (b"%PDF", 4)
    [(get, _), (head, _)] = recorder.requests
    assert get.startswith("GET http://objects.example/")
    assert head.startswith("HEAD http://objects.example/")
    monkeypatch.setenv("HTTP_PROXY", f"http://{HOST}:1")
    monkeypatch.setenv("NO_PROXY", HOST)
    point(endpoint_url=recorder.url)
    assert whole("a.pdf") == b"%PDF"


def test_an_object_is_written_in_one_part_with_what_strict_buckets_demand(
    recorder: Recorder, point: Point, settings: Any
) -> None:
    """A bucket with object lock demands a digest; a policy may demand encryption."""
    point(endpoint_url=recorder.url, object_parameters={"ServerSideEncryption": "AES256"})
    settings.STORAGES = {**settings.STORAGES, "witness": settings.STORAGES["default"]}
    storage.save(io.BytesIO(CONTENT))
    storages["witness"].put("sealed/1", io.BytesIO(CONTENT))  # type: ignore[attr-defined]
    assert len(recorder.requests) == 2
    for _, headers in recorder.requests:
        assert headers["content-md5"] == b64encode(md5(CONTENT).digest()).decode()  # noqa: S324
        assert headers["x-amz-server-side-encryption"] == "AES256"
        assert headers["content-length"] == str(len(CONTENT))
        assert "content-encoding" not in headers
        assert "x-amz-trailer" not in headers


def test_reading_sends_a_request_again_when_its_kept_connection_dies(
    way_to_storage: Proxy, key: str
) -> None:
    usual = way_to_storage.alter
    for failures in (1, 2):
        left = iter([ConnectionResetError] * failures)

        def cut(block: bytes, left: Iterator[type[Exception]] = left) -> bytes:
            if failure := next(left, None):
                raise failure
            return usual(block)

        way_to_storage.alter = usual
        assert whole(key) == CONTENT
        way_to_storage.alter = cut
        if failures == 1:
            assert whole(key) == CONTENT
        else:
            with pytest.raises(OutOfReach):
                whole(key)


def xml(code: str, more: str = "<Message>x</Message>") -> bytes:
    return f'<?xml version="1.0"?>\n<Error><Code>{code}</Code>{more}</Error>'.encode()


def response(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n%PDF\r\n0\r\n\r\n"
NO_NUMBER = b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n%PDF"
REGION = "the bucket is in eu-4, so set S3_REGION to that"
# What a server sends, what it is here, what the message names, how often it is asked.
RESPONSES = {
    "missing": (response("404 Not Found", xml("NoSuchKey")), Missing, "NoSuchKey", 1),
    "no bucket": (response("404 Not Found", xml("NoSuchBucket")), StorageError, "NoSuchBucket", 1),
    "403": (response("403 Forbidden", xml("AccessDenied")), StorageError, "AccessDenied", 1),
    "region": (response("400 No", b"", "x-amz-bucket-region: eu-4"), StorageError, REGION, 1),
    "its XML": (response("400 No", xml("X", "<Region>eu-4</Region>")), StorageError, REGION, 1),
    "archived": (response("403 No", xml("InvalidObjectState")), Archived, "InvalidObjectState", 1),
    "503": (response("503 Slow Down", xml("SlowDown")), OutOfReach, "SlowDown", 2),
    "500, NoSuchKey": (response("500 No", xml("NoSuchKey")), OutOfReach, "NoSuchKey", 2),
    "chunked": (CHUNKED, StorageError, "-1 bytes instead of 4", 1),
    "no number": (NO_NUMBER, StorageError, "-1 bytes instead of 4", 1),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", OutOfReach, "Connection was closed", 2),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_reading_turns_any_response_into_an_error_that_says_what_it_is(
    recorder: Recorder, point: Point, name: str
) -> None:
    recorder.raw, kind, named, requests = RESPONSES[name]
    point(endpoint_url=recorder.url)
    with pytest.raises(StorageError) as raised:
        b"".join(storage.open_object("a.pdf", 4))
    assert raised.type is kind
    assert str(raised.value).startswith("object a.pdf: ")
    assert named in str(raised.value)
    assert len(recorder.requests) == requests
    recorder.raw = None
    assert whole("a.pdf") == b"%PDF"  # nothing of the error is left in a kept connection
    # boto3 leaves the connection of a response that it cannot parse to the garbage collector.
    del raised
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()


def test_a_file_in_an_archive_is_an_error_of_its_own_and_check_files_names_it(
    recorder: Recorder, point: Point, acme: Tenant, settings: Any
) -> None:
    document = factories.document(acme.workspace)
    file = f"/documents/{document.id}/download"
    size = f"Content-Length: {document.original.size}\r\nx-amz-storage-class: GLACIER"
    head = f"HTTP/1.1 200 OK\r\n{size}\r\n"
    point(endpoint_url=recorder.url)
    recorder.raw = f"{head}\r\n".encode()
    responses = [acme.get(file), acme.get(file, method="HEAD")]
    settings.X_ACCEL_DOWNLOADS = True
    responses += [acme.get(file)]
    for refused in responses:
        assert (refused.status, refused.headers["error-code"]) == (409, "file_archived")
        assert "retry-after" not in refused.headers
    output = io.StringIO()
    with pytest.raises(CommandError, match="Missing or damaged files: 1"):
        call_command("check_files", stdout=output)
    assert "it is archived (GLACIER)" in output.getvalue()
    assert not AuditEntry.objects.filter(document_id=document.id).exists()
    restored = 'x-amz-restore: ongoing-request="false", expiry-date="Fri, 21 Dec 2029 00:00:00 GMT"'
    recorder.raw = f"{head}{restored}\r\n\r\n".encode()
    assert acme.get(file, method="HEAD").status == 200


# What a server sends before it falls silent.
SILENT = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n%PDF",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n<Error>",
]


def test_reading_fails_in_time_wherever_the_server_falls_silent(way_to_storage: Proxy) -> None:
    sent = itertools.chain(SILENT, itertools.repeat(b""))
    way_to_storage.alter = lambda block: next(sent)
    started = time.monotonic()
    with ThreadPoolExecutor() as threads:
        ends = [threads.submit(whole, "a.pdf") for _ in SILENT]
        errors = [end.exception() for end in ends]
    assert [type(error) for error in errors] == [OutOfReach] * 3
    assert all("Read timed out" in str(error) or "Read timeout" in str(error) for error in errors)
    assert time.monotonic() - started < DEADLINE
    assert way_to_storage.accepted == 3  # none is sent again


def test_reading_logs_and_raises_nothing_secret(
    recorder: Recorder, point: Point, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    caplog.set_level("DEBUG", "urllib3")  # it logs paths
    point(endpoint_url=recorder.url, secret_key="the-secret", security_token="the-token")
    said = []
    recorder.closes = True
    for recorder.raw in (response("403 No", xml("SignatureDoesNotMatch")), b"", b"SSH-2.0-x\r\n"):
        with pytest.raises(StorageError) as raised:
            whole("a.pdf")
        said += traceback.format_exception(raised.value)
    [*_, (_, headers)] = recorder.requests
    assert headers["x-amz-security-token"] == "the-token"
    signature = headers["authorization"].rpartition("=")[2]
    assert len(signature) == 64
    for secret in ("the-secret", "the-token", signature):
        assert secret not in caplog.text + "".join(said)
