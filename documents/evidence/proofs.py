"""The entries of an evidence file, with their proofs in the tree of the newest checkpoint."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from audit.admin.sending import slot
from audit.models import Action, Checkpoint
from audit.sealing import checkpoints
from audit.sealing.keys import NoteError, PublicKey, public_keys
from audit.sealing.leaves import DATA
from audit.sealing.note import Statement
from audit.sealing.tree import StoredTree, TreeDamaged, leaf_hash, root_of_proof
from documents.evidence.facts import Trail

BATCH = 500  # entries that are read and sent at a time

# The ends of downloads are found by the request ids of their starts.
_ENTRIES = f"""
    WITH listed AS (
        SELECT id, action, request_id FROM audit_auditentry
        WHERE document_id = %(document_id)s AND NOT (action = '{Action.DOWNLOAD_ENDED.value}')
            AND workspace_id IS NOT NULL
            AND (%(everything)s OR workspace_id = ANY(%(workspaces)s::uuid[]))
    ), entry AS (
        SELECT id FROM listed UNION
        SELECT ended.id FROM listed JOIN audit_auditentry AS ended USING (request_id)
        WHERE listed.action = '{Action.DOCUMENT_DOWNLOADED.value}'
            AND ended.action = '{Action.DOWNLOAD_ENDED.value}'
            AND ended.document_id = %(document_id)s
    )
    SELECT entry.id, leaf.index FROM entry
    LEFT JOIN audit_leaf AS leaf ON leaf.entry_id = entry.id AND leaf.index < %(size)s
    ORDER BY leaf.index, entry.id
"""  # noqa: S608 - made of constants
_DATA = f"SELECT entry.id, {DATA} FROM audit_auditentry AS entry WHERE entry.id = ANY(%s)"  # noqa: S608 - made of constants


class EvidenceRefused(Exception):
    """No file can be made; the text says why, and what to do."""


@dataclass(frozen=True)
class Seal:
    """The newest checkpoint, the key that has signed it, and up to which id all are sealed."""

    checkpoint: Checkpoint
    statement: Statement
    key: PublicKey
    complete_to: int

    @classmethod
    def newest(cls) -> "Seal":
        """Reads it and checks its signature.

        Raises:
            EvidenceRefused: there is none, or no known key has signed it.
        """
        if not Checkpoint.objects.exists():
            raise EvidenceRefused(
                "No entry is sealed yet, so nothing can be proven. The operator has to run "
                "`manage.py seal_audit`."
            )
        try:
            keys = public_keys()
        except ImproperlyConfigured as exc:
            raise EvidenceRefused(str(exc)) from exc
        newest = checkpoints.newest(keys)
        if checkpoint := newest.checkpoint:
            for key in keys:
                with suppress(NoteError):
                    statement = Statement.opened(checkpoint.note, [key])
                    return cls(checkpoint, statement, key, newest.horizon.complete_to)
        raise EvidenceRefused(
            "None of AUDIT_PUBLIC_KEYS has signed the newest checkpoint. Add the key that has; "
            "`manage.py verify_audit` says whether the audit log is damaged."
        )


class Proofs:
    """The entries of a document, and their proofs.

    Attributes:
        sealed: the ids of the sealed entries, each with the index of its leaf, in that order.
        unsealed: the ids of the others, in order.

    Raises:
        TreeDamaged: an entry should be sealed, and is not.
    """

    def __init__(self, trail: Trail, seal: Seal) -> None:
        self._seal = seal
        self._tree = StoredTree()
        values: dict[str, Any] = {
            "document_id": trail.document_id,
            "everything": trail.scope.everything,
            "workspaces": list(trail.scope.workspaces),
            "size": seal.statement.size,
        }
        with connection.cursor() as cursor:
            cursor.execute(_ENTRIES, values)
            rows = cursor.fetchall()
        self.sealed = [(id, index) for id, index in rows if index is not None]
        self.unsealed = [id for id, index in rows if index is None]
        if self.unsealed and self.unsealed[0] <= seal.complete_to:
            raise TreeDamaged(f"entry {self.unsealed[0]} was added later, or lost its leaf")

    def sealed_batches(self) -> Iterator[list[str]]:
        """JSON of each sealed entry with its proof; each batch is read with a slot of its own.

        Raises:
            TreeDamaged: an entry or the tree differs from what was signed.
        """
        for start in range(0, len(self.sealed), BATCH):
            batch = self.sealed[start : start + BATCH]
            with slot():
                data = _data_of([id for id, _ in batch])
                proven = [self._proven(id, index, data[id]) for id, index in batch]
            yield proven

    def _proven(self, entry_id: int, index: int, data: str) -> str:
        size = self._seal.statement.size
        proof = self._tree.proof(index, size)
        if root_of_proof(leaf_hash(data.encode()), index, size, proof) != self._seal.statement.root:
            raise TreeDamaged(f"entry {entry_id} does not match the signed checkpoint")
        hashes = [b64encode(each).decode() for each in proof]
        return f'{{"index": {index}, "entry": {data}, "proof": {json.dumps(hashes)}}}'

    def unsealed_batches(self) -> Iterator[list[str]]:
        """JSON of each other entry; each batch is read with a slot of its own.

        Raises:
            TreeDamaged: one of them is gone.
        """
        for start in range(0, len(self.unsealed), BATCH):
            batch = self.unsealed[start : start + BATCH]
            with slot():
                data = _data_of(batch)
            yield [data[id] for id in batch]


def _data_of(ids: list[int]) -> dict[int, str]:
    """JSON of these entries."""
    with connection.cursor() as cursor:
        cursor.execute(_DATA, [ids])
        data: dict[int, str] = dict(cursor.fetchall())
    if missing := set(ids) - data.keys():
        raise TreeDamaged(f"entry {min(missing)} is gone")
    return data
