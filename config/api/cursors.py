"""Opaque, signed cursors: a client can neither read nor change the position in one."""

from typing import Any, TypeVar

from django.core.signing import BadSignature, Signer
from msgspec import convert, to_builtins

from config.api.errors import InvalidParameter

Position = TypeVar("Position")


def encode_cursor(position: Any, purpose: str) -> str:
    """The cursor of a position. Only the same purpose accepts it: one list, for example."""
    # Not `signing.dumps`: it signs the time too, so the same page would never be a 304.
    signer = Signer(salt=purpose, sep=".")
    return signer.sign_object(to_builtins(position))


def decode_cursor(
    cursor: str, type: type[Position], purpose: str, parameter: str, expected: str
) -> Position:
    """Raises InvalidParameter if it was changed, is for another purpose, or is no such position."""
    signer = Signer(salt=purpose, sep=".")
    try:
        return convert(signer.unsign_object(cursor), type)
    except (BadSignature, ValueError):
        raise InvalidParameter(parameter, expected) from None
