"""Opaque, signed cursors: a client can neither read nor change the position in one."""

import base64
from datetime import UTC, datetime, timedelta

from django.core.signing import BadSignature, Signer

from config.api.errors import InvalidParameter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sign(packed: bytes, purpose: str) -> str:
    """The cursor with a packed position.

    Args:
        purpose: what the cursor belongs to, such as a list of one workspace; others refuse it.
    """
    return _signer(purpose).sign(base64.urlsafe_b64encode(packed).decode())


def unsign(cursor: str, purpose: str, parameter: str, expected: str) -> bytes:
    """The packed position in a cursor.

    Args:
        parameter: the one that had the cursor; `expected` says what it takes.

    Raises:
        InvalidParameter: it was changed, or belongs to something else.
    """
    try:
        return base64.urlsafe_b64decode(_signer(purpose).unsign(cursor))
    except BadSignature:
        raise InvalidParameter(parameter, expected) from None


def to_microseconds(time: datetime) -> int:
    """A time as microseconds since the epoch."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    """The reverse of `to_microseconds`."""
    return _EPOCH + timedelta(microseconds=microseconds)


def _signer(purpose: str) -> Signer:
    return Signer(salt=purpose, sep=".")
