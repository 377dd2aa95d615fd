"""The raw key: how it is generated, and hashed for storage."""

import hashlib
import re
import secrets
import string

from config.runtime.key_format import PREFIX, PUBLIC_LENGTH

ALPHABET = string.ascii_letters + string.digits  # a double click selects the whole key
SECRET_LENGTH = 40  # characters; 40 × log2(62) ≈ 238 bits, of which 190 stay secret

LENGTH = len(PREFIX) + SECRET_LENGTH

_KEY = re.compile(rf"{PREFIX}[A-Za-z0-9]{{{SECRET_LENGTH}}}")
_BEGINNING = re.compile(rf"{PREFIX}[A-Za-z0-9]{{{PUBLIC_LENGTH - len(PREFIX)}}}")


def generate() -> str:
    """A new raw key; it is not stored anywhere."""
    return PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))


def digest(raw: str) -> str:
    """SHA-256 of the raw key, 64 hex digits: the only form that is stored.

    A fast hash is enough, since a random key cannot be guessed.
    """
    return hashlib.sha256(raw.encode()).hexdigest()


def beginning(raw: str) -> str:
    """What may be the public part of a key that was cut, doubled or mistyped; "" if it is not.

    Of a text that no key begins with, even these characters may be a secret: nothing keeps them.
    """
    return raw[:PUBLIC_LENGTH] if _BEGINNING.match(raw) else ""


def loggable(raw: str) -> str | None:
    """The public part of what was sent as a key; None if it could be something else.

    Of any other text, even its first characters may be a secret.
    """
    return raw[:PUBLIC_LENGTH] if _KEY.fullmatch(raw) else None
