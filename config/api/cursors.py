"""Opaque, signed cursors: a client can neither read nor change the position in one."""

import base64
from datetime import UTC, datetime, timedelta

from django.core.signing import BadSignature, Signer

from config.api.errors import InvalidParameter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sign(packed: bytes, purpose: str) -> str:
    """The cursor with a packed position, which only the same purpose accepts: one list, say."""
    return _signer(purpose).sign(base64.urlsafe_b64encode(packed).decode())


def unsign(cursor: str, purpose: str, parameter: str, expected: str) -> bytes:
    """The packed position in a cursor; InvalidParameter if it was changed or is for another
    purpose.
    """
    try:
        return base64.urlsafe_b64decode(_signer(purpose).unsign(cursor))
    except BadSignature:
        raise InvalidParameter(parameter, expected) from None


def to_microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)


def from_microseconds(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _signer(purpose: str) -> Signer:
    return Signer(salt=purpose, sep=".")
