"""examples/receive.py: keeps each event before it responds, and saves the signed PDF once."""

import contextlib
import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from http.client import HTTPConnection
from typing import Any
from uuid import UUID

import pytest

from documents.models import Document
from tests.support.examples import Examples, Requests
from tests.support.proxy import HOST, Proxy
from tests.support.webhooks import SECRET, signed


class Receiver:
    """The program in a process of its own, which listens when this returns."""

    def __init__(self, examples: Examples, **environment: str) -> None:
        variables = {"DTD_WEBHOOK_SECRET": SECRET, "PORT": "0", **environment}
        examples.environment |= variables
        self.process = examples.start("receive")
        assert self.process.stderr is not None
        self.port = int(self.process.stderr.readline().rpartition(":")[2])

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline().rstrip("\n")
        assert line or self.process.poll() is None, self.process.communicate()
        return line

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        """Sends a request. Returns the response's status."""
        with contextlib.closing(HTTPConnection(HOST, self.port, timeout=30)) as connection:
            connection.request("POST", "/", body, headers)
            return connection.getresponse().status

    def deliver(
        self, document: UUID | str, type: str = "document.completed", number: int = 1
    ) -> int:
        return self.post(*signed(document, type, number))

    def kill(self) -> tuple[str, str]:
        """Kills it. Returns what it has printed since."""
        self.process.kill()
        return self.process.communicate()


@pytest.fixture
def receiver(examples: Examples) -> Iterator[Receiver]:
    running = Receiver(examples)
    yield running
    if running.process.poll() is None:
        running.kill()


def received(examples: Examples) -> dict[str, str]:
    """The PDFs that it has saved, by their paths, with their SHA-256; it leaves nothing else."""
    folder = examples.folder / "received"
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.glob("*/*")
    }


def wanted(document: Document) -> dict[str, str]:
    assert document.signed is not None
    return {f"{document.id}/Lease – signed.pdf": document.signed.sha256}


def test_receive_saves_the_signed_pdf_once_and_prints_what_arrives(
    examples: Examples, receiver: Receiver, lease: Document
) -> None:
    requests = Requests(examples.server)
    assert receiver.deliver(lease.id) == 204
    assert receiver.line() == f"document.completed {lease.id}"
    assert receiver.line() == f"saved received/{lease.id}/Lease – signed.pdf"
    assert received(examples) == wanted(lease)
    assert receiver.deliver(lease.id) == 204
    assert receiver.line() == f"document.completed {lease.id} (again)"
    for type in ("document.sent", "webhook.test", "document.shredded"):
        assert receiver.deliver(lease.id, type, number=2) == 204
        assert receiver.line() == f"{type} {lease.id}"
    assert receiver.kill() == ("", "")
    assert requests() == ["download 200"]


BAD: list[dict[str, Any]] = [
    {"secret": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    {"after": timedelta(minutes=-6)},
    {"after": timedelta(minutes=16)},
]


def test_receive_refuses_what_is_not_signed_with_its_secret_and_now(
    examples: Examples, receiver: Receiver, lease: Document
) -> None:
    body, headers = signed(lease.id)
    bad = [signed(lease.id, **each) for each in BAD]
    bad += [(body.replace(b"COMPLETED", b"completed"), headers), (b"\xff", headers)]
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        values = ("", "x", "v1,", "v1,x", "nan", "é", "v1 " * 3)
        bad += [(body, headers | {name: value}) for value in values]
        bad.append((body, {key: headers[key] for key in headers if key != name}))
    for each in bad:
        assert receiver.post(*each) == 401
    assert receiver.post(bytes(65537), {}) == 413
    assert received(examples) == {}
    assert receiver.post(body, headers) == 204
    _, problems = receiver.kill()
    assert re.fullmatch(rf"(Refused: \w.+\n){{{len(bad)}}}", problems)


def test_receive_retries_until_the_service_is_back_also_after_it_was_killed(
    examples: Examples, lease: Document
) -> None:
    front = Proxy(examples.environment["DTD_BASE_URL"])
    front.refuse()
    receiver = Receiver(examples, DTD_BASE_URL=front.url)
    assert receiver.deliver(lease.id) == 204
    receiver.kill()
    receiver = Receiver(examples, DTD_BASE_URL=front.url)
    try:
        assert receiver.process.stderr is not None
        assert "Next attempt in " in receiver.process.stderr.readline()
        assert not [path for path in received(examples) if path.endswith(".pdf")]  # a part, perhaps
        front.restore()
        assert receiver.line() == f"saved received/{lease.id}/Lease – signed.pdf"
        assert receiver.deliver(lease.id) == 204
        assert receiver.line().endswith("(again)")
    finally:
        receiver.kill()
        front.stop()
    assert received(examples) == wanted(lease)
