"""Secrets of endpoints: made as Standard Webhooks says, and stored encrypted.

Unlike a key, a secret cannot be stored as a hash: each delivery is signed with it. Its encryption
key is derived from SECRET_KEY, so a copy of the database alone signs nothing.
"""

import base64
import logging
import secrets

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

from events.webhooks.models import Endpoint

logger = logging.getLogger(__name__)

PREFIX = "whsec_"  # https://www.standardwebhooks.com
BYTES = 32  # the standard allows 24 to 64


def new() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode()


def encrypt(raw: str) -> str:
    return _keys().encrypt(raw.encode()).decode()


def decrypt(stored: str) -> str:
    """The raw secret. Raises InvalidToken if it was encrypted under an unknown SECRET_KEY."""
    return _keys().decrypt(stored).decode()


def encrypt_again() -> None:
    """While there are SECRET_KEY_FALLBACKS, encrypts all secrets under SECRET_KEY."""
    if not settings.SECRET_KEY_FALLBACKS:
        return
    for endpoint in Endpoint.objects.existing():
        old = {"secret": endpoint.secret, "previous_secret": endpoint.previous_secret}
        try:
            new = {name: text and _keys().rotate(text).decode() for name, text in old.items()}
        except InvalidToken:
            logger.error("No key decrypts the secret of endpoint %s", endpoint.pk)
            continue
        # Unless somebody has rolled the secret meanwhile.
        Endpoint.objects.filter(pk=endpoint.pk, **old).update(**new)


def _keys() -> MultiFernet:
    """The first one encrypts, each decrypts."""
    keys = [
        salted_hmac("events.webhooks.secrets", "", secret=each, algorithm="sha256").digest()
        for each in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])
