"""Secrets of endpoints: made as Standard Webhooks says, and stored encrypted.

Unlike a key, a secret cannot be stored as a hash: each delivery is signed with it. Its encryption
key is derived from SECRET_KEY, so a copy of the database alone signs nothing.
"""

import base64
import secrets
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from events.webhooks.models import Endpoint

PREFIX = "whsec_"  # https://www.standardwebhooks.com
BYTES = 32  # the standard allows 24 to 64
_COLUMNS = ("secret", "previous_secret")


def new() -> str:
    """A new secret, as the consumer gets it: "whsec_…"."""
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode()


def encrypt(raw: str) -> str:
    """A secret as it is stored."""
    return _fernet().encrypt(raw.encode()).decode()


def decrypt(stored: str) -> str:
    """A stored secret as the consumer has it.

    Raises:
        InvalidToken: it is encrypted under neither SECRET_KEY nor one of SECRET_KEY_FALLBACKS.
    """
    return _fernet().decrypt(stored).decode()


def encrypt_again() -> tuple[int, int]:
    """Encrypts under SECRET_KEY what is still encrypted under a fallback.

    Returns:
        How many endpoints were changed, and how many have a secret that no key decrypts.
    """
    changed = unknown = 0
    for endpoint in Endpoint.objects.existing().only(*_COLUMNS).iterator():
        old = {name: stored for name in _COLUMNS if (stored := getattr(endpoint, name))}
        try:
            new = {name: _encrypted_again(stored) for name, stored in old.items()}
        except InvalidToken:
            unknown += 1
            continue
        # Unless somebody has rolled the secret meanwhile.
        changed += new != old and Endpoint.objects.filter(pk=endpoint.pk, **old).update(**new)
    return changed, unknown


def _encrypted_again(stored: str) -> str:
    """The same if SECRET_KEY decrypts it already."""
    try:
        Fernet(_derived(settings.SECRET_KEY)).decrypt(stored)
    except InvalidToken:
        return _fernet().rotate(stored).decode()
    return stored


def _fernet() -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([Fernet(_derived(key)) for key in keys])


@cache
def _derived(key: str) -> bytes:
    hkdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"events.webhooks.secrets")
    return base64.urlsafe_b64encode(hkdf.derive(key.encode()))
