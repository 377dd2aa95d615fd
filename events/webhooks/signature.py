"""What shows a receiver that a delivery comes from this service: the headers of Standard Webhooks.

`policy.py` says for how long the former secret of a rolled one signs too.
"""

import base64
import hashlib
import hmac
import logging
import time

from cryptography.fernet import InvalidToken

from events.models import public_id
from events.webhooks import secrets
from events.webhooks.network import AttemptFailed
from events.webhooks.queue import Claim

logger = logging.getLogger(__name__)


def signed_headers(claim: Claim, body: bytes) -> list[tuple[str, str]]:
    """The headers of Standard Webhooks; while a secret is rolled, there are two signatures.

    Raises:
        AttemptFailed: the endpoint's secret cannot be decrypted.
    """
    id, timestamp = public_id(claim.event_id), str(int(time.time()))
    try:
        keys = [secrets.decrypt(each) for each in (claim.secret, claim.previous_secret) if each]
    except InvalidToken as exc:
        logger.error("No key decrypts the secret of endpoint %s", claim.endpoint_id)
        raise AttemptFailed("This service cannot read the endpoint's secret: roll it.") from exc
    content = f"{id}.{timestamp}.".encode() + body
    return [
        ("webhook-id", id),
        ("webhook-timestamp", timestamp),
        ("webhook-signature", " ".join(signature(key, content) for key in keys)),
    ]


def signature(secret: str, content: bytes) -> str:
    """ "v1,…": what a secret signs."""
    key = base64.b64decode(secret.removeprefix(secrets.PREFIX))
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
