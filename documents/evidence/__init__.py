"""All entries of one document in the audit log, in one file that anybody can check offline.

`docs/evidence.md` says what the file proves, and `examples/verify_evidence.py` checks it.
"""

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from audit.models import Action, AuditEntry
from audit.record import record
from audit.sealing.tree import TreeDamaged
from config.runtime.request_context import actor
from documents.evidence.facts import Trail, time_text
from documents.evidence.proofs import EvidenceRefused, Proofs, Seal

FORMAT = "document-evidence/1"

__all__ = ["EvidenceRefused", "Trail", "export"]


def export(
    trail: Trail, *, most: int | None = None
) -> tuple[AuditEntry, Iterator[tuple[int, str]]]:
    """Begins the file and records that, so that nobody has a file without an entry in the log.

    The file's own entry is not in it. Its first entries are read and checked at once, so that
    damage is usually an error before the first byte. Later parts are read one at a time; damage
    there is said in the file, which ends with it and so is no JSON.

    Args:
        trail: it must exist.
        most: entries that the file may have.

    Returns:
        The audit entry; the parts of the file, each with the number of entries in it. To take a
        part may raise TreeDamaged.

    Raises:
        EvidenceRefused: nothing is sealed, the tree is damaged, or there are too many entries.
        django.db.Error: the database is out of reach.
    """
    if most is not None and trail.entries[: most + 1].count() > most:
        raise EvidenceRefused(
            f"The document has more than {most:,} entries, too many for a page. The operator can "
            f"make the file with `manage.py export_evidence {trail.document_id}`."
        )
    seal = Seal.newest()
    try:
        facts, proofs = _begin(trail, seal)
        parts = _parts(facts, proofs)
        first = list(islice(parts, 2))
    except TreeDamaged as exc:
        raise EvidenceRefused(
            f"The audit log is damaged: {exc}. Run `manage.py verify_audit`, which says more."
        ) from exc
    workspace, document = trail.snapshots()
    counts = f"{len(proofs.sealed):,} entries with proof, {len(proofs.unsealed):,} not sealed yet"
    started = record(
        Action.EVIDENCE_EXPORTED,
        by=actor(),
        workspace=workspace,
        document=document,
        detail=counts,
    )
    return started, chain(first, _with_reason(parts))


@transaction.atomic(durable=True)
def _begin(trail: Trail, seal: Seal) -> tuple[dict[str, Any], Proofs]:
    """What the file says of the document, and which entries it has: one snapshot of the database.

    The entries themselves never change, nor do the leaves of a checkpoint, so they can be read
    later. `seal` may be older than the snapshot.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    facts = {
        "format": FORMAT,
        "made_at": time_text(timezone.now()),
        "document_id": str(trail.document_id),
        "document": trail.document_facts(),
        "files": trail.files(),
        "checkpoint": seal.checkpoint.note,
        "public_key": str(seal.key),
    }
    return facts, Proofs(trail, seal)


def _parts(facts: dict[str, Any], proofs: Proofs) -> Iterator[tuple[int, str]]:
    """The text of the file; the second part has the first entries."""
    members = [f'"{name}": {json.dumps(facts[name], ensure_ascii=False)},\n' for name in facts]
    yield 0, "{\n" + "".join(members) + '"entries": ['
    yield from _objects(proofs.sealed_batches())
    yield 0, ',\n"unsealed": ['
    yield from _objects(proofs.unsealed_batches())
    yield 0, "\n}\n"


def _with_reason(parts: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The parts; or as far as they go, and why there are no more."""
    try:
        yield from parts
    except TreeDamaged as exc:
        yield 0, f"\nThis file is not whole. The audit log is damaged: {exc}.\n"
        raise


def _objects(batches: Iterator[list[str]]) -> Iterator[tuple[int, str]]:
    """The rest of an array: one object on each line."""
    before = "\n"
    for batch in batches:
        yield len(batch), before + ",\n".join(batch)
        before = ",\n"
    yield 0, "]" if before == "\n" else "\n]"
