"""The raw key: how it is made, how it is recognised, and the only form in which it is kept."""

import hashlib
import re
import secrets
import string

PREFIX = "dtd_"
ALPHABET = string.ascii_letters + string.digits  # a double click selects the whole key
SECRET_LENGTH = 40  # characters; 40 × log2(62) ≈ 238 bits
SHOWN_LENGTH = len(PREFIX) + 8  # first characters that lists show; 190 bits stay secret

_BEARER = re.compile(r"Bearer +(dtd_[\x21-\x7e]+)", re.IGNORECASE)


def generate() -> str:
    """A new raw key. It exists in the caller's hands only."""
    return PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))


def digest(raw: str) -> str:
    """SHA-256 of the raw key, 64 hex digits: what the database holds instead of it.

    A fast hash is enough: the key is random, there is nothing to guess.
    """
    return hashlib.sha256(raw.encode()).hexdigest()


def first_characters(raw: str) -> str:
    """The public start of a key, by which people tell their keys apart."""
    return raw[:SHOWN_LENGTH]


def from_header(value: str) -> str | None:
    """The raw key in an Authorization header `Bearer dtd_…`; None for any other form.

    The scheme is case-insensitive (RFC 9110, section 11.1), the key is not.
    """
    match = _BEARER.fullmatch(value)
    return match[1] if match and match[1].startswith(PREFIX) else None
