"""All entries of one document in the audit log, in one file that anybody can check offline.

`docs/evidence.md` says what the file proves, and `examples/verify_evidence.py` checks it.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import chain, islice

from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from audit.models import Action, Leaf
from audit.record import record
from audit.sealing import checkpoints
from audit.sealing.keys import PublicKey, public_keys, set_up
from audit.sealing.leaves import COLUMNS, TRUSTED, data_of, read_columns
from audit.sealing.note import Statement, signer
from audit.sealing.tree import StoredTree, TreeDamaged, leaf_hash, root_of_proof
from config.request.context import actor
from documents.evidence.facts import Trail, time_text

FORMAT = "document-evidence/1"
BATCH = 500  # entries that are read and sent at a time

_DATA = f"SELECT id, {COLUMNS} FROM public.audit_auditentry AS entry WHERE id = ANY(%s)"  # noqa: S608 - made of constants


class EvidenceRefused(Exception):
    """No file can be made; the text says why, and what to do."""


def export(trail: Trail, *, most: int | None = None) -> Iterator[str]:
    """Begins the file and records that, so that nobody has a file without an entry in the log.

    The file's own entry is not in it. Its first entries are read and checked at once, so that
    damage is usually an error before the first byte. Later parts are read one at a time.

    Args:
        trail: it must exist.
        most: entries that the file may have.

    Returns:
        The parts of the file. To take a part may raise TreeDamaged.

    Raises:
        EvidenceRefused: nothing is sealed, the tree is damaged, or there are too many entries.
        django.db.Error: the database is out of reach.
    """
    if most is not None and trail.entries[: most + 1].count() > most:
        raise EvidenceRefused(
            f"The document has more than {most:,} entries, too many for a page. The operator can "
            f"make the file with `manage.py export_evidence {trail.document_id}`."
        )
    try:
        file = _File(trail, *_newest_checkpoint())
        parts = file.parts()
        first = list(islice(parts, 2))
    except TreeDamaged as exc:
        raise EvidenceRefused(
            f"The audit log is damaged: {exc}. Run `manage.py verify_audit`, which says more."
        ) from exc
    workspace, document = trail.snapshots()
    record(
        Action.EVIDENCE_EXPORTED,
        by=actor(),
        workspace=workspace,
        document=document,
        detail=f"{len(file.sealed):,} entries with proof, {len(file.unsealed):,} not sealed yet",
    )
    return chain(first, parts)


def _newest_checkpoint() -> tuple[Statement, str, PublicKey]:
    """What it says, its note, and the key that has signed that."""
    if not set_up():
        raise EvidenceRefused(
            "The audit log of this installation is not sealed, so nothing can be proven."
        )
    try:
        keys = public_keys()
    except ImproperlyConfigured as exc:
        raise EvidenceRefused(str(exc)) from exc
    newest = checkpoints.newest(keys)
    if newest.statement:
        return newest.statement, newest.note, signer(newest.note, keys)
    if newest.unsigned:
        raise EvidenceRefused(
            "None of AUDIT_PUBLIC_KEYS has signed the newest checkpoint. Add the key that has; "
            "`manage.py verify_audit` says whether the audit log is damaged."
        )
    raise EvidenceRefused(
        "No entry is sealed yet, so nothing can be proven. The operator has to run "
        "`manage.py seal_audit`."
    )


class _File:
    """What a file says, and which entries it has: one snapshot of the database.

    The entries themselves never change, nor do the leaves of a checkpoint, so they can be read
    later. The checkpoint may be older than the snapshot.

    Attributes:
        sealed: the sealed entries in the order of their leaves: id → index of the leaf.
        unsealed: the ids of the others, in order.

    Raises:
        TreeDamaged: an entry should be sealed, and is not.
    """

    @transaction.atomic(durable=True)
    def __init__(self, trail: Trail, statement: Statement, note: str, key: PublicKey) -> None:
        self._statement = statement
        self._tree = StoredTree()
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {TRUSTED}")
        leaf = Leaf.objects.filter(entry_id=OuterRef("pk"), index__lt=statement.size)
        entries = trail.entries.annotate(leaf=Subquery(leaf.values("index"))).order_by("leaf", "pk")
        rows = list(entries.values_list("pk", "leaf"))
        self.sealed = {id: index for id, index in rows if index is not None}
        self.unsealed = [id for id, index in rows if index is None]
        if self.unsealed and self.unsealed[0] <= statement.horizon.complete_to:
            raise TreeDamaged(f"entry {self.unsealed[0]} was added later, or lost its leaf")
        self._facts = {
            "format": FORMAT,
            "made_at": time_text(timezone.now()),
            "document_id": str(trail.document_id),
            "document": trail.document_facts(),
            "files": trail.files(),
            "checkpoint": note,
            "public_key": str(key),
        }

    def parts(self) -> Iterator[str]:
        """The text of the file; the second part has the first entries.

        Raises TreeDamaged if an entry or the tree differs from what was signed, or an entry is
        gone.
        """
        members = [
            f'"{name}": {json.dumps(value, ensure_ascii=False)},\n'
            for name, value in self._facts.items()
        ]
        yield "{\n" + "".join(members) + '"entries": ['
        yield from self._objects(list(self.sealed), self._proven)
        yield ',\n"unsealed": ['
        yield from self._objects(self.unsealed, lambda id, data: data)
        yield "\n}\n"

    def _objects(self, ids: list[int], text: Callable[[int, str], str]) -> Iterator[str]:
        """The rest of an array: one object on each line. Each batch is read by itself."""
        before = "\n"
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            with transaction.atomic():
                rows = read_columns(_DATA, [batch])
                data = {id: data_of(columns).decode() for id, *columns in rows}
                if missing := set(batch) - data.keys():
                    raise TreeDamaged(f"entry {min(missing)} is gone")
                objects = [text(id, data[id]) for id in batch]
            yield before + ",\n".join(objects)
            before = ",\n"
        yield "]" if before == "\n" else "\n]"

    def _proven(self, entry_id: int, data: str) -> str:
        index, size = self.sealed[entry_id], self._statement.size
        proof = self._tree.proof(index, size)
        if root_of_proof(leaf_hash(data.encode()), index, size, proof) != self._statement.root:
            raise TreeDamaged(f"entry {entry_id} does not match the signed checkpoint")
        hashes = [b64encode(each).decode() for each in proof]
        return f'{{"index": {index}, "entry": {data}, "proof": {json.dumps(hashes)}}}'
