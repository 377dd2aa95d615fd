"""Who and what is loaded: ids, keys and names that are the same in every run.

Shared by the loader, which stores the digests of the keys, and by the client, which sends them.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from bench.scale import Scale

_MASK = (1 << 64) - 1
SUPPORT = "support@bench.example"  # the login of the support person


def mix(number: int) -> int:
    """64 bits that look random, another value for each number (splitmix64's finisher)."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & _MASK
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _MASK
    return number ^ number >> 31


def identifier(kind: int, number: int) -> str:
    """The id of the `number`th thing of a kind, 32 hex digits."""
    both = number << 8 | kind
    return f"{mix(both):016x}{both * 0x9E3779B97F4A7C15 & _MASK:016x}"


WORKSPACE, KEY, DOCUMENT, RECIPIENT = range(4)  # kinds


@dataclass(frozen=True)
class Secret:
    """What the benchmark's keys and passwords are made of; it never leaves its folder."""

    value: bytes

    @classmethod
    def of(cls, folder: Path) -> "Secret":
        file = folder / "bench_secret"
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_hex(32))
        return cls(file.read_bytes())

    def derive(self, name: str) -> str:
        """40 hex digits for one purpose."""
        return hmac.digest(self.value, name.encode(), hashlib.sha256).hex()[:40]


@dataclass(frozen=True)
class Key:
    """One API key."""

    id: str
    name: str
    raw: str


@dataclass(frozen=True)
class Workspace:
    """One workspace.

    Attributes:
        number: 0 is the large one.
        first: number of its first document among all.
        documents: how many it has, deleted ones not counted.
        deleted: how many deleted ones it has besides.
    """

    number: int
    id: str
    name: str
    first: int
    documents: int
    deleted: int
    keys: tuple[Key, ...]


def workspaces(scale: Scale, secret: Secret) -> list[Workspace]:
    """The large workspace, then the small ones."""
    found: list[Workspace] = []
    sizes = [(scale.documents, scale.keys)]
    sizes += [(scale.documents_each, scale.keys_each)] * scale.workspaces
    first = 0
    for number, (documents, keys) in enumerate(sizes):
        workspace = Workspace(
            number=number,
            id=str(UUID(identifier(WORKSPACE, number))),
            name=f"Workspace {number}",
            first=first,
            documents=documents,
            deleted=documents // 100,
            keys=tuple(_key(secret, number, which) for which in range(keys)),
        )
        found.append(workspace)
        first += workspace.documents + workspace.deleted
    return found


def _key(secret: Secret, workspace: int, which: int) -> Key:
    raw = f"dtd_{secret.derive(f'key {workspace} {which}')}"
    number = workspace * 10_000 + which
    return Key(str(UUID(identifier(KEY, number))), f"Key {number}", raw)
