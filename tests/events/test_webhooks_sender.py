"""One attempt: what counts as success, its deadline, and to which addresses it goes."""

import asyncio
import re
import socket
import threading
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpcore
import pytest
from standardwebhooks import Webhook

from events.webhooks import policy, secrets, sender, targets
from events.webhooks.models import Attempt, Delivery, Endpoint
from tests.support.nginx import make_certificate
from tests.support.proxy import silent
from tests.support.receiver import Receiver, closed_port, receiving

NOT_PUBLIC = "The host's name leads to an address that is not public."


@pytest.fixture
def laptop(settings: Any) -> None:
    settings.WEBHOOK_TARGETS = "any"


def to(url: str) -> Delivery:
    return Delivery(
        endpoint=Endpoint(url=url, secret=secrets.encrypt(secrets.new())),
        event_id=uuid.uuid4(),
        type="document.completed",
        occurred_at=datetime.now(UTC),
        document_id=uuid.uuid4(),
        status="COMPLETED",
    )


def send(url: str) -> Attempt:
    return asyncio.run(sender.attempt(to(url)))


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Host names lead to these addresses, the last ones from then on; returns who asked."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **options: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        addresses = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_2xx_is_success_and_everything_else_fails_redirects_too(
    laptop: None, receiver: Receiver
) -> None:
    receiver.content, receiver.headers = b"", {"Location": receiver.url("/200/elsewhere")}
    fails = (300, 301, 302, 303, 307, 308, 400, 404, 410, 429, 500, 503)
    for status in (200, 201, 204, 299, *fails):
        result = send(receiver.url(f"/{status}"))
        assert (result.status, result.error) == (status, "")
        assert result.succeeded == (status not in fails)
        assert receiver.received.pop().path == f"/{status}"
        assert receiver.received == []


@pytest.mark.slow
def test_attempt_ends_after_15_seconds_whatever_the_receiver_does(
    laptop: None, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert policy.ATTEMPT_SECONDS == 15
    monkeypatch.setattr(policy, "ATTEMPT_SECONDS", 1.0)
    receiver.headers = {"Retry-After": "60"}
    silent = send(receiver.url("/200/slow"))
    assert (silent.status, silent.error) == (None, "There was no response within 1 seconds.")
    for status in (200, 410, 503):  # the status counts, whatever happens to the body
        result = send(receiver.url(f"/{status}/trickle"))
        assert result.milliseconds >= 1000
        assert (result.status, result.error) == (status, "")
        assert result.succeeded == (status == 200)
        assert result.retry_after == (60 if status == 503 else 0)


def test_attempt_ends_while_the_host_s_name_is_being_resolved(
    laptop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait(30) and [])
    monkeypatch.setattr(policy, "ATTEMPT_SECONDS", 0.5)
    try:
        result = send("https://hooks.example.com/")
        assert "within" in result.error
        assert result.milliseconds < 10_000
    finally:
        released.set()


def test_beginning_of_the_response_is_kept(laptop: None, receiver: Receiver) -> None:
    for receiver.content, kept in (
        ("é".encode() * 100_000, "é" * 1000),
        # The database refuses NUL, and UTF-8 that is none.
        (b"a\x00b\xff\xed\xa0\x80c", "ab" + 4 * "\N{REPLACEMENT CHARACTER}" + "c"),
    ):
        result = send(receiver.url())
        assert (result.succeeded, result.response) == (True, kept)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120), ("0", 0), ("-1", 0), ("soon", 0), ("9" * 5000, 999_999_999)]
    + [(f"Sun, {day} Nov {year} 08:49:37 GMT", 0) for day, year in [(32, 2026), (1, "9" * 20)]]
    + [(form, 1000) for form in ("%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%c")],
)
def test_retry_after_counts_with_429_and_503_and_may_be_a_date(
    laptop: None, receiver: Receiver, value: str, seconds: int
) -> None:
    for ahead, expected in ((1000, seconds), (-1000, 0 if "%" in value else seconds)):
        date = datetime.now(UTC) + timedelta(seconds=ahead)
        receiver.headers = {"Retry-After": date.strftime(value)}
        for path in ("/429", "/503"):
            assert expected * 0.9 <= send(receiver.url(path)).retry_after <= expected
    assert send(receiver.url("/500")).retry_after == 0


def test_what_is_no_http_is_a_failure_with_a_sentence(laptop: None, receiver: Receiver) -> None:
    head = b"HTTP/1.1 200 OK\r\nA: "
    early = b"HTTP/1.1 103 \r\n\r\n"
    for receiver.content in (b"", b"\0" * 100, b"SSH-2.0-x\r\n", head + b"a" * 300_000, early):
        result = send(receiver.url("/200/raw"))
        assert not result.succeeded
        assert result.error == "The response is not valid HTTP, or incomplete."
    for end in (b"Content-Length: 10\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\nno length"):
        receiver.content = early + b"HTTP/1.1 410 \r\n" + end  # the final status counts
        result = send(receiver.url("/200/raw"))
        assert (result.status, result.error) == (410, "")


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1:{closed}/", "The connection was refused."),
        ("https://127.0.0.1:{plain}/", "The (TLS )?connection failed."),
        ("https://no-such-host.invalid/", "The host name could not be resolved."),
        (f"https://{'a' * 63}.{'b' * 63}.invalid/", "The host name could not be resolved."),
        ("nonsense", "The URL is not allowed: .+"),
    ],
)
def test_attempt_without_a_response_is_a_failure_with_a_sentence(
    laptop: None, receiver: Receiver, url: str, error: str
) -> None:
    result = send(url.format(closed=closed_port(), plain=receiver.port))
    assert result.status is None
    assert re.fullmatch(error, result.error), result.error


def test_url_that_is_stored_is_checked_again() -> None:
    for url in ("http://hooks.example.com/", "https://127.0.0.1/", "https://0x7f.1/"):
        assert send(url).error.startswith("The URL is not allowed: ")


def test_secret_that_no_key_decrypts_is_a_failure(
    laptop: None, receiver: Receiver, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = secrets.encrypt(secrets.new())
    settings.SECRET_KEY = "another"
    monkeypatch.setattr(secrets, "encrypt", lambda raw: old)
    assert "roll it" in send(receiver.url()).error
    assert receiver.received == []


def test_request_is_signed_with_both_secrets_for_a_day_after_one_was_rolled(
    laptop: None, receiver: Receiver
) -> None:
    old, new = secrets.new(), secrets.new()
    delivery = to(receiver.url())
    delivery.endpoint.secret, delivery.endpoint.previous_secret = map(secrets.encrypt, (new, old))
    for hours, signed in ((1, [new, old]), (-1, [new])):
        delivery.endpoint.previous_secret_until = datetime.now(UTC) + timedelta(hours=hours)
        assert asyncio.run(sender.attempt(delivery)).succeeded
        received = receiver.received.pop()
        assert len(received.headers["webhook-signature"].split()) == len(signed)
        for raw in signed:
            Webhook(raw).verify(received.body, received.headers)


# --- Addresses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["fe80::1%eth0"], ["93.184.216.34", "127.0.0.1"]]
)
def test_name_that_leads_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    resolving(monkeypatch, addresses)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", None)  # nobody connects
    assert send("https://hooks.example.com/").error == NOT_PUBLIC


def test_name_is_resolved_once_and_the_connection_goes_to_one_of_its_addresses(
    laptop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads elsewhere when it is resolved again leads nowhere."""
    with receiving(address="127.0.0.2") as checked:
        asked = resolving(monkeypatch, ["127.0.0.9", "127.0.0.2"], ["127.0.0.3"])  # one refuses
        result = send(checked.url(host="rebinding.example.com"))
    assert result.succeeded
    assert asked == ["rebinding.example.com"]
    assert checked.received[0].headers["host"] == f"rebinding.example.com:{checked.port}"


def test_address_that_does_not_respond_leaves_time_for_the_next_one(
    laptop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(targets, "CONNECT_SECONDS", 0.3)
    with receiving(address="127.0.0.2") as works, silent("127.0.0.9", works.port):
        resolving(monkeypatch, ["127.0.0.9", "127.0.0.2"])
        assert send(works.url(host="hooks.example.com")).succeeded


# --- TLS -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "trusted", "error"),
    [
        ("hooks.example.com", True, ""),
        ("other.example.com", True, "Hostname mismatch"),
        ("hooks.example.com", False, "The certificate was not accepted: self"),
    ],
)
def test_certificate_must_be_for_the_host_s_name_and_of_a_known_authority(
    laptop: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    trusted: bool,
    error: str,
) -> None:
    file = make_certificate(tmp_path / "tls", f"DNS:{name}")
    if trusted:  # as in a process that starts with this variable
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    sender._trusted.cache_clear()
    try:
        with receiving(certificate=file) as receiver:
            resolving(monkeypatch, ["127.0.0.1"])
            result = send(receiver.url(host="hooks.example.com"))
            assert result.succeeded == (error == "")
            assert error in result.error
            assert trusted is False or "IP address mismatch" in send(receiver.url()).error
            assert len(receiver.received) == result.succeeded
            monkeypatch.setattr(policy, "ATTEMPT_SECONDS", 1.0)
            slow = send(receiver.url("/200/slow", host="hooks.example.com"))
            assert (error or "no response within 1 seconds") in slow.error
    finally:
        sender._trusted.cache_clear()
