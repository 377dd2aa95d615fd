"""All entries of one document in the audit log, in one file that anybody can check offline.

`docs/evidence.md` says what the file proves, and `examples/verify_evidence.py` checks it.
"""

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from django.db import connection, transaction
from django.utils import timezone

from audit import record
from audit.tree.stored import TreeDamaged
from config.request_context import actor
from documents.evidence.facts import Trail, time_text
from documents.evidence.proofs import EvidenceRefused, Proofs, Seal

FORMAT = "document-evidence/1"
IN_MEMORY = 1 << 20  # bytes; a longer file is on the disk until it was sent

__all__ = ["EvidenceRefused", "Trail", "export"]


def export(trail: Trail, *, most: int | None = None) -> IO[bytes]:
    """Makes the file and records that, so that nobody has a file without an entry in the log.

    The whole file is made first: its own entry is not in it, and damage is an error before the
    first byte instead of half a file.

    Args:
        trail: it must exist.
        most: entries that the file may have.

    Returns:
        The file, at its start.

    Raises:
        EvidenceRefused: nothing is sealed, the tree is damaged, there are too many entries, or
            there is no space for the file.
        django.db.Error: the database is out of reach.
    """
    if most is not None and trail.entries[: most + 1].count() > most:
        raise EvidenceRefused(
            f"The document has more than {most:,} entries, too many for a page. The operator can "
            f"make the file with `manage.py export_evidence {trail.document_id}`."
        )
    seal = Seal.newest()
    file: Any = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        sealed, unsealed = _write(file, trail, seal)
        workspace, document = trail.snapshots()
        record.evidence_exported(
            workspace=workspace,
            document=document,
            person=actor(),
            sealed=sealed,
            unsealed=unsealed,
        )
    except TreeDamaged as exc:
        file.close()
        raise EvidenceRefused(
            f"The audit log is damaged: {exc}. Run `manage.py verify_audit`, which says more."
        ) from exc
    except OSError as exc:
        file.close()
        raise EvidenceRefused(f"The file cannot be written: {exc.strerror}.") from exc
    except BaseException:
        file.close()
        raise
    file.seek(0)
    opened: IO[bytes] = file
    return opened


@transaction.atomic(durable=True)
def _write(file: IO[bytes], trail: Trail, seal: Seal) -> tuple[int, int]:
    """Writes the file, in one snapshot of the database.

    A checkpoint never changes, so `seal` may be older than the snapshot.

    Returns:
        How many entries are sealed, and how many are not.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    proofs = Proofs(trail, seal)
    facts = {
        "format": FORMAT,
        "made_at": time_text(timezone.now()),
        "document_id": str(trail.document_id),
        "document": trail.document_facts(),
        "files": trail.files(),
        "checkpoint": seal.checkpoint.note,
        "public_key": str(seal.key),
    }
    file.write(b"{\n")
    for name, value in facts.items():
        file.write(f'"{name}": {json.dumps(value, ensure_ascii=False)},\n'.encode())
    sealed = _write_array(file, "entries", proofs.sealed())
    file.write(b",\n")
    unsealed = _write_array(file, "unsealed", proofs.unsealed())
    file.write(b"\n}\n")
    return sealed, unsealed


def _write_array(file: IO[bytes], name: str, objects: Iterator[str]) -> int:
    """Writes one object on each line; returns how many."""
    count = 0
    file.write(f'"{name}": ['.encode())
    for each in objects:
        file.write(b",\n" if count else b"\n")
        file.write(each.encode())
        count += 1
    file.write(b"\n]" if count else b"]")
    return count
