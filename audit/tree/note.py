"""Signed checkpoints: C2SP's formats tlog-checkpoint and signed-note, with Ed25519.

A checkpoint is a text of a few lines: the log's name, its number of leaves, its root, and, as
extension lines, the time and the horizon (checkpoints of earlier releases lack the horizon). A note
is a text with signatures. Keys are written as Go's package
golang.org/x/mod/sumdb/note writes them, so other tools can read them.
"""

import base64
import binascii
import hashlib
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from audit.tree.horizon import Horizon

ED25519 = b"\x01"  # signed-note's number of the algorithm
_SIGNATURE = "— "  # how a line with a signature begins
_LINES = 7  # of a note: name, size, root, time, horizon, an empty line, a signature
_TIME = "sealed at "  # how our extension line begins
_SIGNED = re.compile(_SIGNATURE + r"\S+ [A-Za-z0-9+/]{91}=\n")  # the key's id and 64 bytes
_NAME = re.compile(r"[^\s+]{1,100}")


class NoteError(ValueError):
    """A key or a note is malformed, or no known key has signed the note."""


def _key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(f"{name}\n".encode() + ED25519 + public).digest()[:4]


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise NoteError(f"not base64: {exc}") from exc


@dataclass(frozen=True)
class PublicKey:
    """A key that checks signatures: "name+8 hex digits+base64"."""

    name: str
    raw: bytes

    def __str__(self) -> str:
        encoded = base64.b64encode(ED25519 + self.raw).decode()
        return f"{self.name}+{self.id.hex()}+{encoded}"

    @property
    def id(self) -> bytes:
        return _key_id(self.name, self.raw)

    @classmethod
    def parse(cls, text: str) -> "PublicKey":
        """Reads the text that `str()` writes.

        Raises:
            NoteError: it is anything else.
        """
        name, key_id, encoded = _three_parts(text)
        raw = _raw_key(encoded)
        key = cls(name, raw)
        if key.id.hex() != key_id:
            raise NoteError("the key's id does not belong to it; a character is wrong")
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
    seed: bytes

    PREFIX = "PRIVATE+KEY+"

    @classmethod
    def generate(cls, name: str) -> "PrivateKey":
        """A new key of this name, such as "documents.example.com/audit".

        Raises:
            NoteError: the name is empty or long, or has a space or a plus sign.
        """
        if not _NAME.fullmatch(name):
            raise NoteError("a name has 1 to 100 characters, without spaces and plus signs")
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> "PrivateKey":
        """Reads the text that `encode` writes.

        Raises:
            NoteError: it is anything else. The text of the error has nothing of the key.
        """
        if not text.startswith(cls.PREFIX):
            raise NoteError(f"a private key begins with {cls.PREFIX}")
        name, key_id, encoded = _three_parts(text.removeprefix(cls.PREFIX))
        key = cls(name, _raw_key(encoded))
        if key.public.id.hex() != key_id:
            raise NoteError("the key's id does not belong to it; a character is wrong")
        return key

    def encode(self) -> str:
        encoded = base64.b64encode(ED25519 + self.seed).decode()
        return f"{self.PREFIX}{self.name}+{self.public.id.hex()}+{encoded}"

    @property
    def public(self) -> PublicKey:
        key = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return PublicKey(self.name, key.public_bytes_raw())

    def sign(self, text: str) -> str:
        """The note: the text, which ends with a newline, and its signature."""
        signature = Ed25519PrivateKey.from_private_bytes(self.seed).sign(text.encode())
        encoded = base64.b64encode(self.public.id + signature).decode()
        return f"{text}\n{_SIGNATURE}{self.name} {encoded}\n"

    def __repr__(self) -> str:
        return f"PrivateKey({self.name!r})"


def _three_parts(text: str) -> tuple[str, str, str]:
    parts = text.split("+", 2)
    if len(parts) != 3 or not _NAME.fullmatch(parts[0]):
        raise NoteError("a key has three parts with plus signs between them")
    return parts[0], parts[1], parts[2]


def _raw_key(encoded: str) -> bytes:
    decoded = _decode(encoded)
    if decoded[:1] != ED25519 or len(decoded) != 33:
        raise NoteError("this is no Ed25519 key")
    return decoded[1:]


def split_note(note: str) -> tuple[str, str]:
    """The text of a note, and the lines with its signatures; nothing is checked."""
    text, _, signatures = note.rpartition("\n\n")
    return f"{text}\n", signatures


def open_note(note: str, keys: Sequence[PublicKey]) -> str:
    """The text of a note that one of the keys has signed.

    Raises:
        NoteError: none has, or it is no note.
    """
    text, signatures = split_note(note)
    if not signatures.endswith("\n"):
        raise NoteError("this is no note, or it was cut short")
    for line in signatures[:-1].split("\n"):
        name, _, encoded = line.removeprefix(_SIGNATURE).rpartition(" ")
        signed = _decode(encoded)
        for key in keys:
            if (key.name, key.id) == (name, signed[:4]) and key.has_signed(text, signed[4:]):
                return text
    raise NoteError("no known key has signed this checkpoint")


@dataclass(frozen=True)
class Statement:
    """What a checkpoint says: the first `size` leaves of the log have this root."""

    origin: str
    size: int
    root: bytes
    sealed_at: datetime
    horizon: Horizon | None = None

    def text(self) -> str:
        root = base64.b64encode(self.root).decode()
        time = self.sealed_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        horizon = f"{self.horizon}\n" if self.horizon else ""
        return f"{self.origin}\n{self.size}\n{root}\n{_TIME}{time}\n{horizon}"

    @classmethod
    def opened(cls, note: str, keys: Sequence[PublicKey]) -> "Statement":
        """What a checkpoint says that one of the keys has signed.

        Raises:
            NoteError: none has, or it is no checkpoint.
        """
        return cls.parse(open_note(note, keys))

    @classmethod
    def parse(cls, text: str) -> "Statement":
        """Reads the text of a checkpoint.

        Raises:
            NoteError: it is anything else.
        """
        try:
            origin, size, root, time, extension, *_ = text.split("\n")
            if not (size.isascii() and size.isdigit() and time.startswith(_TIME)):
                raise NoteError("this is no checkpoint")
            sealed_at = datetime.fromisoformat(time.removeprefix(_TIME))
        except ValueError as exc:
            raise NoteError("this is no checkpoint") from exc
        return cls(origin, int(size), _decode(root), sealed_at, Horizon.parse(extension))


def read_notes(file: IO[str]) -> Iterator[str]:
    """The checkpoints of a file that has one after the other.

    What is left of one that was cut short is skipped.
    """
    lines: deque[str] = deque(maxlen=_LINES)
    for line in file:
        lines.append(line)
        if _SIGNED.fullmatch(line) and len(lines) >= _LINES - 1:
            if len(lines) == _LINES and not Horizon.parse(lines[-3].rstrip("\n")):
                lines.popleft()
            yield "".join(lines)
            lines.clear()
