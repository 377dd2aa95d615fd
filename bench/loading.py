"""Fills a database: the same workspaces, keys and documents in every run."""

import hashlib
import hmac
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import psycopg
from psycopg import sql

from apikeys import keys
from bench import log
from bench.processes import ROOT
from bench.scale import Scale

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

DOCUMENTS = Path(__file__).parent / "documents.sql"
RARE = 36  # documents of the large workspace with the status DECLINED: more than a page
SMALL_FILE = 100  # bytes
# Their indexes are removed meanwhile, but those of constraints.
TABLES = ("documents_storedfile", "documents_document", "documents_recipient")
INDEXES = """
    SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s)
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)
"""


def derive(name: str) -> str:
    """40 hex digits for one purpose, from the secret key of the benchmark's own folder."""
    return hmac.digest(os.environ["SECRET_KEY"].encode(), name.encode(), hashlib.sha256).hex()[:40]


def identifier(kind: str, number: int) -> str:
    """The id of one row, as the SQL has it: `md5('<kind> <number>')::uuid`."""
    digest = hashlib.md5(f"{kind} {number}".encode(), usedforsecurity=False)
    return str(UUID(digest.hexdigest()))


def document(number: int) -> str:
    """The id of a document; the workspace's `first` is its newest."""
    return identifier("document", number)


def object_key(scale: Scale, number: int, which: int = 1) -> str:
    """Of a document's original (1), signed file (2) or certificate (3)."""
    return f"{scale.name}/{number * 3 + which}"


def content(scale: Scale, number: int, which: int = 1) -> bytes:
    """What such a file holds; the newest document of the large workspace has large ones."""
    size = SMALL_FILE if number else scale.large_file
    return f"file {number * 3 + which} ".encode().ljust(size, b".")


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
    for number, (documents, count) in enumerate(sizes):
        own = tuple(_key(number * 10_000 + which) for which in range(count))
        found.append(Workspace(number, identifier("workspace", number), first, documents, own))
        first += documents + found[-1].deleted
    return found


def _key(number: int) -> Key:
    return Key(identifier("key", number), f"Key {number}", f"dtd_{derive(f'key {number}')}")


def fingerprint(scale: Scale) -> str:
    """Changes whenever this file or the schema would make another database."""
    sources = [Path(__file__), DOCUMENTS, *sorted(ROOT.glob("*/migrations/*.py"))]
    parts = [repr(replace(scale, seconds=0, rounds=0)).encode(), derive("fingerprint").encode()]
    return hashlib.sha256(b"\0".join([*parts, *(s.read_bytes() for s in sources)])).hexdigest()


def load(connection: psycopg.Connection, storage: "S3Client", scale: Scale) -> None:
    """Fills the tables of the database, which are empty, and object storage."""
    loaded = workspaces(scale)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO workspaces_workspace (id, name, plan, suspended, created_at)"
            " VALUES (%s, %s, 'BUSINESS', false, now())",
            [(workspace.id, workspace.name) for workspace in loaded],
        )
        cursor.executemany(
            "INSERT INTO apikeys_apikey (id, workspace_id, name, prefix, digest, created_at)"
            " VALUES (%s, %s, %s, %s, %s, now())",
            [
                (key.id, each.id, key.name, keys.first_characters(key.raw), keys.digest(key.raw))
                for each in loaded
                for key in each.keys
            ],
        )
    indexes = connection.execute(INDEXES, [list(TABLES)]).fetchall()
    for name, _ in indexes:
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    log(f"  documents of {len(loaded)} workspaces …")
    for workspace in loaded:
        _load_documents(connection, workspace, scale)
        _upload(storage, workspace, scale)
    log("  indexes, vacuum and statistics …")
    for _, definition in indexes:
        connection.execute(definition)
    connection.execute(
        "SELECT setval(pg_get_serial_sequence('documents_storedfile', 'id'), max(id))"
        " FROM documents_storedfile"
    )
    connection.execute("VACUUM (ANALYZE)")


def _load_documents(connection: psycopg.Connection, workspace: Workspace, scale: Scale) -> None:
    values = {
        "scale": scale.name,
        "workspace": workspace.id,
        "first": workspace.first,
        "documents": workspace.documents,
        "deleted": workspace.deleted,
        "large": workspace.number == 0,
        "gap": max(workspace.documents // RARE, 20),
        "small_file": SMALL_FILE,
        "large_file": scale.large_file,
    }
    psycopg.ClientCursor(connection).execute(DOCUMENTS.read_bytes(), values)


def _upload(storage: "S3Client", workspace: Workspace, scale: Scale) -> None:
    """Uploads the files of the workspace's newest documents: three each, if the row needs them."""
    for number in range(
        workspace.first, workspace.first + min(scale.uploaded, workspace.documents)
    ):
        for which in (1, 2, 3):
            storage.put_object(
                Bucket=os.environ["S3_BUCKET"],
                Key=object_key(scale, number, which),
                Body=content(scale, number, which),
            )
