"""The entries of an evidence file, with their proofs in the tree of the newest checkpoint."""

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from audit.models import Checkpoint
from audit.tree import checkpoints
from audit.tree.keys import public_keys
from audit.tree.leaves import DATA
from audit.tree.merkle import leaf_hash, root_of_proof
from audit.tree.note import NoteError, PublicKey, Statement
from audit.tree.stored import StoredTree, TreeDamaged
from documents.evidence.facts import Trail

BATCH = 2000  # entries that are read at a time; no more are ever in memory

_OF_DOCUMENT = """entry.document_id = %(document_id)s AND entry.workspace_id IS NOT NULL
    AND (%(everything)s OR entry.workspace_id = ANY(%(workspaces)s::uuid[]))"""
_SEALED = f"""
    SELECT entry.id, {DATA}, leaf.index FROM audit_auditentry AS entry
    JOIN audit_leaf AS leaf ON leaf.entry_id = entry.id
    WHERE leaf.index < %(size)s AND {_OF_DOCUMENT} ORDER BY leaf.index
"""  # noqa: S608 - made of constants
_UNSEALED = f"""
    SELECT entry.id, {DATA} FROM audit_auditentry AS entry
    WHERE {_OF_DOCUMENT} AND NOT EXISTS (
        SELECT FROM audit_leaf AS leaf WHERE leaf.entry_id = entry.id AND leaf.index < %(size)s)
    ORDER BY entry.id
"""  # noqa: S608 - made of constants


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
        elif not newest.unsigned:
            raise EvidenceRefused(
                "No entry is sealed yet, so nothing can be proven. The operator has to run "
                "`manage.py seal_audit`."
            )
        raise EvidenceRefused(
            "None of AUDIT_PUBLIC_KEYS has signed the newest checkpoint. Add the key that has; "
            "`manage.py verify_audit` says whether the audit log is damaged."
        )


class Proofs:
    """Reads a document's entries, within a transaction."""

    def __init__(self, trail: Trail, seal: Seal) -> None:
        self._trail = trail
        self._seal = seal
        self._tree = StoredTree()

    def sealed(self) -> Iterator[str]:
        """JSON of each sealed entry with its proof, in the order of the leaves.

        Raises:
            TreeDamaged: an entry or the tree differs from what was signed.
        """
        size = self._seal.statement.size
        for entry_id, data, index in self._rows("sealed", _SEALED):
            proof = self._tree.proof(index, size)
            leaf = leaf_hash(data.encode())
            if root_of_proof(leaf, index, size, proof) != self._seal.statement.root:
                raise TreeDamaged(f"entry {entry_id} does not match the signed checkpoint")
            hashes = [b64encode(each).decode() for each in proof]
            yield f'{{"index": {index}, "entry": {data}, "proof": {json.dumps(hashes)}}}'

    def unsealed(self) -> Iterator[str]:
        """JSON of each other entry, in the order of their ids.

        Raises:
            TreeDamaged: one of them should be sealed.
        """
        for entry_id, data in self._rows("unsealed", _UNSEALED):
            if entry_id <= self._seal.complete_to:
                raise TreeDamaged(f"entry {entry_id} was added later, or lost its leaf")
            yield data

    def _rows(self, name: str, query: str) -> Iterator[tuple[Any, ...]]:
        values: dict[str, Any] = {
            "document_id": self._trail.document_id,
            "everything": self._trail.scope.everything,
            "workspaces": list(self._trail.scope.workspaces),
            "size": self._seal.statement.size,
        }
        with connection.cursor() as cursor:
            # All rows will be read; the plan for the first ones would go through all leaves.
            cursor.execute("SET LOCAL cursor_tuple_fraction = 1")
            cursor.execute(f"DECLARE {name} CURSOR FOR {query}", values)
            while True:
                cursor.execute(f"FETCH {BATCH} FROM {name}")
                rows = cursor.fetchall()
                yield from rows
                if len(rows) < BATCH:
                    return
