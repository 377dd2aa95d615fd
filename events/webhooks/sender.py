"""One attempt: a signed POST over a connection of its own, to an address that was checked."""

import asyncio
import logging
import ssl
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from math import ceil
from urllib.parse import urlsplit

import httpcore
from cryptography.fernet import InvalidToken
from django.core.exceptions import ValidationError
from django.utils.http import parse_http_date_safe
from standardwebhooks import Webhook

from config.api.responses import as_json
from events.serializers import event_of
from events.webhooks import policy, secrets
from events.webhooks.models import RESPONSE_LENGTH, Attempt, Delivery
from events.webhooks.targets import AttemptFailed, CheckedNetwork, check_url

logger = logging.getLogger(__name__)

READ_BYTES = 4 * RESPONSE_LENGTH  # of a response: a character has up to 4
USER_AGENT = "Document-API-Webhooks/1"


async def attempt(delivery: Delivery) -> Attempt:
    """Makes one attempt, within `policy.ATTEMPT_SECONDS`; does not save it."""
    made = Attempt(delivery=delivery, started_at=datetime.now(UTC))
    started = time.monotonic()
    try:
        async with asyncio.timeout(policy.ATTEMPT_SECONDS):
            await _post(delivery, made)
    except TimeoutError:  # whatever was going on meanwhile
        made.error = f"There was no response within {policy.ATTEMPT_SECONDS:.0f} seconds."
    except Exception as exc:
        made.error = _sentence(exc)
    if made.status is not None:  # it counts, whatever happened to the body
        made.error = ""
    made.milliseconds = round((time.monotonic() - started) * 1000)
    return made


async def _post(delivery: Delivery, made: Attempt) -> None:
    url = delivery.endpoint.url
    try:
        check_url(url)
    except ValidationError as exc:
        raise AttemptFailed(f"The URL is not allowed: {exc.message}") from exc
    body = as_json(event_of(delivery))
    headers = [
        ("Host", urlsplit(url).netloc),
        ("Content-Type", "application/json"),
        ("User-Agent", USER_AGENT),
        ("Connection", "close"),
        *signed_headers(delivery, body),
    ]
    network = CheckedNetwork()
    # No pool: a connection whose certificate was verified for one host must not serve another one,
    # and a kept one may be closed by the receiver at any moment.
    connection = httpcore.AsyncHTTPConnection(
        httpcore.URL(url).origin, ssl_context=_trusted(), network_backend=network
    )
    try:
        async with connection.stream("POST", url, headers=headers, content=body) as response:
            made.status = response.status
            if response.status in policy.RETRY_AFTER_STATUSES:
                made.retry_after = _retry_after(response.headers)
            content = b""
            async for part in response.aiter_stream():
                content += part
                text = content.decode(errors="replace").replace("\0", "")  # PostgreSQL has no NUL
                made.response = text[:RESPONSE_LENGTH]
                if len(content) >= READ_BYTES:
                    break
    finally:
        await network.close()


def signed_headers(delivery: Delivery, body: bytes) -> list[tuple[str, str]]:
    """The headers of Standard Webhooks; while a secret is rolled, there are two signatures.

    Raises AttemptFailed if the endpoint's secret cannot be decrypted.
    """
    id, endpoint, now = delivery.public_event_id, delivery.endpoint, datetime.now(UTC)
    stored = [endpoint.secret]
    if endpoint.has_two_secrets:
        stored.append(endpoint.previous_secret)
    try:
        keys = [Webhook(secrets.decrypt(each)) for each in stored]
    except InvalidToken as exc:
        logger.error("No key decrypts the secret of endpoint %s", endpoint.pk)
        raise AttemptFailed("This service cannot read the endpoint's secret: roll it.") from exc
    return [
        ("webhook-id", id),
        ("webhook-timestamp", str(int(now.timestamp()))),
        ("webhook-signature", " ".join(key.sign(id, now, body.decode()) for key in keys)),
    ]


def _retry_after(headers: Iterable[tuple[bytes, bytes]]) -> int:
    value = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    if value.isdigit():
        return int(value[:9])
    date = parse_http_date_safe(value.decode("latin-1"))
    return max(0, ceil(date - time.time())) if date else 0


@cache
def _trusted() -> ssl.SSLContext:
    return ssl.create_default_context()  # SSL_CERT_FILE names other certificate authorities


# For the workspace's admins: the first of these that the error or one of its causes is.
_SENTENCES: dict[type[BaseException], str] = {
    AttemptFailed: "{0}",
    ssl.SSLCertVerificationError: "The certificate was not accepted: {0.verify_message}",
    ssl.SSLError: "The TLS connection failed.",
    ConnectionRefusedError: "The connection was refused.",
    httpcore.ConnectError: "The connection failed.",
    httpcore.ConnectTimeout: "The connection failed.",
    httpcore.NetworkError: "The connection broke off.",
    httpcore.RemoteProtocolError: "The response is not valid HTTP, or incomplete.",
}


def _sentence(exc: Exception) -> str:
    causes: list[BaseException] = [exc]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for kind, text in _SENTENCES.items():
        for each in causes:
            if isinstance(each, kind):
                return text.format(each)[:200]
    logger.error("An attempt failed unexpectedly", exc_info=exc)
    return "This service failed; its log has the reason."
