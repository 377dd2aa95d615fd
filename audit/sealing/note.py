"""Signed checkpoints: C2SP's formats tlog-checkpoint and signed-note, with Ed25519.

A checkpoint is a text of a few lines: the log's name, its number of leaves, its root, and, as
extension lines, the time and the horizon. A note is a text with signatures.
"""

import base64
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO

from audit.sealing.keys import SIGNATURE, NoteError, PublicKey, decode

_LINES = 7  # of a note: name, size, root, time, horizon, an empty line, a signature
_TIME = "sealed at "  # how our extension line begins
_SIGNED = re.compile(SIGNATURE + r"\S+ [A-Za-z0-9+/]{91}=\n")  # the key's id and 64 bytes
_HORIZON = re.compile(r"complete to (\d+), then to (\d+) from transaction (\d+)", re.ASCII)


@dataclass(frozen=True)
class Horizon:
    """All entries up to an id are visible, so the sealer only looks at newer ones.

    Every transaction that could still add an entry with an id up to `complete_to` has ended, and
    all entries up to it are sealed. `next_complete_to` takes its place when all transactions
    before `next_transaction` have ended.
    """

    complete_to: int = 0
    next_complete_to: int = 0
    next_transaction: int = 0

    def __str__(self) -> str:
        return (
            f"complete to {self.complete_to}, then to {self.next_complete_to} from transaction "
            f"{self.next_transaction}"
        )

    def advanced(self, xmin: int, xmax: int, newest_id: int) -> "Horizon":
        """The horizon of a snapshot: no transaction before `xmin` runs any more."""
        if xmin < self.next_transaction:
            return self
        return Horizon(self.next_complete_to, newest_id, xmax)


def signer(note: str, keys: Sequence[PublicKey]) -> PublicKey:
    """The key that has signed a note; raises NoteError if none has, or it is no note."""
    text, _, signatures = note.rpartition("\n\n")
    for line in signatures.split("\n"):
        name, _, encoded = line.removeprefix(SIGNATURE).rpartition(" ")
        signed = decode(encoded)
        for key in keys:
            if (key.name, key.id) == (name, signed[:4]) and key.has_signed(f"{text}\n", signed[4:]):
                return key
    raise NoteError("no known key has signed this checkpoint")


@dataclass(frozen=True)
class Statement:
    """What a checkpoint says: the first `size` leaves of the log have this root."""

    origin: str
    size: int
    root: bytes
    sealed_at: datetime
    horizon: Horizon

    def text(self) -> str:
        root = base64.b64encode(self.root).decode()
        time = self.sealed_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"{self.origin}\n{self.size}\n{root}\n{_TIME}{time}\n{self.horizon}\n"

    @classmethod
    def opened(cls, note: str, keys: Sequence[PublicKey]) -> "Statement":
        """Raises NoteError if none of the keys has signed it, or it is no checkpoint."""
        signer(note, keys)
        return cls.unchecked(note)

    @classmethod
    def unchecked(cls, note: str) -> "Statement":
        """Like `opened`, but signatures are not checked."""
        try:
            origin, size, root, time, extension, *_ = note.rpartition("\n\n")[0].split("\n")
            found = _HORIZON.fullmatch(extension)
            if not (size.isascii() and size.isdigit() and time.startswith(_TIME) and found):
                raise NoteError("this is no checkpoint")
            sealed_at = datetime.fromisoformat(time.removeprefix(_TIME))
            horizon = Horizon(*map(int, found.groups()))
            return cls(origin, int(size), decode(root), sealed_at, horizon)
        except ValueError as exc:
            raise NoteError("this is no checkpoint") from exc


def read_notes(file: IO[str]) -> Iterator[str]:
    """The checkpoints of a file that has one after the other.

    What is left of one that was cut short is skipped.
    """
    lines: deque[str] = deque(maxlen=_LINES)
    for line in file:
        lines.append(line)
        if _SIGNED.fullmatch(line) and len(lines) == _LINES:
            yield "".join(lines)
            lines.clear()
