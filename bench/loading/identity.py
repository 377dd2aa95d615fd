"""The workspaces and keys that are loaded, the same in every run.

The loader stores the digests of the keys; the client sends the keys themselves.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass
from uuid import UUID

from bench.scale import Scale

SUPPORT = "support@bench.example"  # username of the support user


def derive(name: str) -> str:
    """40 hex digits for one purpose, from the secret key of the benchmark's own folder."""
    return hmac.digest(os.environ["SECRET_KEY"].encode(), name.encode(), hashlib.sha256).hex()[:40]


def identifier(kind: str, number: int) -> UUID:
    """The id of one row, as the loaders' SQL has it: `md5('<kind> <number>')::uuid`."""
    return UUID(hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False).hexdigest())


@dataclass(frozen=True)
class Key:
    """One API key."""

    id: str
    name: str
    raw: str


@dataclass(frozen=True)
class Workspace:
    """One workspace."""

    number: int  # 0 is the large workspace
    id: str
    first: int  # number of its first document among all
    documents: int  # without the deleted ones
    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        return f"Workspace {self.number}"

    @property
    def deleted(self) -> int:
        return self.documents // 100


def workspaces(scale: Scale) -> list[Workspace]:
    """The large workspace, then the small ones."""
    sizes = [(scale.documents, scale.keys)]
    sizes += [(scale.documents_each, scale.keys_each)] * scale.workspaces
    found: list[Workspace] = []
    first = 0
    for number, (documents, keys) in enumerate(sizes):
        own_keys = tuple(_key(number * 10_000 + which) for which in range(keys))
        workspace_id = str(identifier("workspace", number))
        found.append(Workspace(number, workspace_id, first, documents, own_keys))
        first += documents + found[-1].deleted
    return found


def _key(number: int) -> Key:
    raw = f"dtd_{derive(f'key {number}')}"
    return Key(str(identifier("key", number)), f"Key {number}", raw)
