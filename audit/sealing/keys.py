"""The keys of checkpoints: Ed25519, written as Go's golang.org/x/mod/sumdb/note writes them."""

import base64
import hashlib
import re
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

ED25519 = b"\x01"  # signed-note's number of the algorithm
SIGNATURE = "— "  # how a note's line with a signature begins
PRIVATE = "PRIVATE+KEY+"  # how a private key begins
WRONG = "the key's id does not belong to it; a character is wrong"
_NAME = re.compile(r"[^\s+]{1,100}")


class NoteError(ValueError):
    """A key or a note is malformed, or no known key has signed the note."""


def decode(text: str) -> bytes:
    """The bytes of base64; raises NoteError if it is anything else."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as exc:
        raise NoteError(f"not base64: {exc}") from exc


def _parse(text: str) -> tuple[str, bytes]:
    parts = text.split("+", 2)
    if len(parts) != 3 or not _NAME.fullmatch(parts[0]):
        raise NoteError("a key has three parts with plus signs between them")
    raw = decode(parts[2])
    if raw[:1] != ED25519 or len(raw) != 33:
        raise NoteError("this is no Ed25519 key")
    return parts[0], raw[1:]


@dataclass(frozen=True)
class PublicKey:
    """A key that checks signatures: "name+8 hex digits+base64"."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(ED25519 + self.raw).decode()}"

    @property
    def id(self) -> bytes:
        return hashlib.sha256(f"{self.name}\n".encode() + ED25519 + self.raw).digest()[:4]

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Reads the text that `str()` writes; raises NoteError if it is anything else."""
        key = cls(*_parse(text))
        if str(key) != text:
            raise NoteError(WRONG)
        return key

    def has_signed(self, text: str, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class PrivateKey:
    """A key that signs: "PRIVATE+KEY+name+8 hex digits+base64". A secret."""

    name: str
    seed: bytes = field(repr=False)

    @classmethod
    def generate(cls, name: str) -> "PrivateKey":
        """Raises NoteError if the name is empty or long, or has a space or a plus sign."""
        if not _NAME.fullmatch(name):
            raise NoteError("a name has 1 to 100 characters, without spaces and plus signs")
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> "PrivateKey":
        """Reads the text that `encode` writes.

        Raises NoteError if it is anything else; the error's text has nothing of the key.
        """
        if not text.startswith(PRIVATE):
            raise NoteError(f"a private key begins with {PRIVATE}")
        key = cls(*_parse(text.removeprefix(PRIVATE)))
        if key.encode() != text:
            raise NoteError(WRONG)
        return key

    def encode(self) -> str:
        encoded = base64.b64encode(ED25519 + self.seed).decode()
        return f"{PRIVATE}{self.name}+{self.public.id.hex()}+{encoded}"

    @property
    def public(self) -> PublicKey:
        key = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return PublicKey(self.name, key.public_bytes_raw())

    def sign(self, text: str) -> str:
        """The note: the text, which ends with a newline, and its signature."""
        signature = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        encoded = base64.b64encode(self.public.id + signature).decode()
        return f"{text}\n{SIGNATURE}{self.name} {encoded}\n"


def signing_key() -> PrivateKey:
    """Raises ImproperlyConfigured if AUDIT_SIGNING_KEY is not set or not valid."""
    if not settings.AUDIT_SIGNING_KEY:
        raise ImproperlyConfigured(
            "AUDIT_SIGNING_KEY is not set. `manage.py make_audit_key NAME` makes a key."
        )
    try:
        return PrivateKey.parse(settings.AUDIT_SIGNING_KEY)
    except NoteError as exc:
        raise ImproperlyConfigured(f"AUDIT_SIGNING_KEY is not valid: {exc}.") from exc


def set_up() -> bool:
    """Whether this installation seals its audit log, which is an option."""
    return bool(settings.AUDIT_PUBLIC_KEYS or settings.AUDIT_SIGNING_KEY)


def public_keys() -> list[PublicKey]:
    """All keys that may have signed: AUDIT_PUBLIC_KEYS, and the one of AUDIT_SIGNING_KEY.

    Raises ImproperlyConfigured if there is none, or one is not valid.
    """
    try:
        found = [PublicKey.parse(text) for text in settings.AUDIT_PUBLIC_KEYS]
    except NoteError as exc:
        raise ImproperlyConfigured(f"AUDIT_PUBLIC_KEYS is not valid: {exc}.") from exc
    if settings.AUDIT_SIGNING_KEY and (own := signing_key().public) not in found:
        found.append(own)
    if not found:
        raise ImproperlyConfigured(
            "The audit log is not sealed: AUDIT_PUBLIC_KEYS is not set. To seal it, run: "
            "deploy/install EMAIL --seal"
        )
    return found
