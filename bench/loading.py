"""How much is loaded, and its loader: the same workspaces, keys and documents in every run."""

import hashlib
import hmac
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import psycopg

from apikeys import keys
from config.request.redaction import PUBLIC_LENGTH

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ROOT / "bench" / "documents.sql"
# What is searched for in them → the parameters.
SEARCHES: dict[str, str] = tomllib.loads((ROOT / "bench" / "searches.toml").read_text())
RARE = 36  # documents of the large workspace with the status DECLINED: more than a page


@dataclass(frozen=True)
class Scale:
    """What is loaded and how long is measured; the defaults are those of `full`."""

    name: str
    documents: int = 1_000_000  # of the large workspace, without the deleted ones
    workspaces: int = 40  # small ones
    documents_each: int = 1_000
    keys: int = 1_500  # of the large workspace
    keys_each: int = 75
    uploaded: int = 1  # documents of each workspace, the newest, whose originals can be downloaded
    large_file: int = 1_000_000  # bytes of the large workspace's newest document
    seconds: float = 4  # of one measurement
    rounds: int = 5
    slack: float = 1.0  # by which targets are easier: short measurements are noisy


FULL = Scale("full")
SMALL = Scale("small", 2_000, 5, 200, keys=100, keys_each=20, seconds=0.3, rounds=1, slack=4.0)
# What is broken by `make faults`: a workspace with a large file, and its neighbour.
FAULTS = Scale("faults", 33, 1, 32, keys=50, keys_each=50, uploaded=32, large_file=5_000_000)


def identifier(kind: str, number: object) -> str:
    """The id of one row, as the SQL has it: `md5('<kind> <number>')::uuid`."""
    digest = hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False)
    return str(UUID(digest.hexdigest()))


def content(scale: Scale, number: int) -> bytes:
    """Of a document's original; the newest document of the large workspace has a large one."""
    return f"file {number * 3 + 1} ".encode().ljust(100 if number else scale.large_file, b".")


class Key(NamedTuple):
    id: str
    name: str
    raw: str


class Workspace(NamedTuple):
    """One workspace; number 0 is the large one."""

    number: int
    id: str
    first: int  # number of its newest document among all
    documents: int  # without the deleted ones
    deleted: int
    keys: list[Key]


def workspaces(scale: Scale) -> list[Workspace]:
    found, first, secret = list[Workspace](), 0, os.environ["SECRET_KEY"].encode()
    for number in range(scale.workspaces + 1):
        documents = scale.documents_each if number else scale.documents
        names = [f"Key {number}.{n}" for n in range(scale.keys_each if number else scale.keys)]
        raw = [f"dtd_{hmac.digest(secret, name.encode(), 'sha256').hex()[:40]}" for name in names]
        own = [Key(identifier("key", name), name, r) for name, r in zip(names, raw, strict=True)]
        name, deleted = identifier("workspace", number), documents // 10
        found.append(Workspace(number, name, first, documents, deleted, own))
        first += documents + deleted
    return found


def load(connection: psycopg.Connection, bucket: Path, scale: Scale) -> None:
    (bucket / scale.name).mkdir(exist_ok=True)
    for each in workspaces(scale):
        values = {
            **each._asdict(),
            "name": f"Workspace {each.number}",
            "key_ids": [key.id for key in each.keys],
            "key_names": [key.name for key in each.keys],
            "prefixes": [key.raw[:PUBLIC_LENGTH] for key in each.keys],
            "digests": [keys.digest(key.raw) for key in each.keys],
            "scale": scale.name,
            "gap": max(each.documents // RARE, 20),
            "small_file": 100,
            "large_file": scale.large_file,
        }
        psycopg.ClientCursor(connection).execute(DOCUMENTS.read_bytes(), values)
        for number in range(each.first, each.first + scale.uploaded):
            (bucket / scale.name / f"{number * 3 + 1}").write_bytes(content(scale, number))
