"""Checkpoints to compare the tree with: those in the database, and those of a witness."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from audit.models import Checkpoint
from audit.sealing.keys import NoteError, PublicKey
from audit.sealing.leaves import TRUSTED
from audit.sealing.note import Horizon, Statement, read_notes

LOOKED_AT = 8  # of the newest checkpoints; one of them should be signed
LEAVES = 256  # between two checkpoints of a witness that are compared

# One statement, so that the leaves are those of the same moment.
_NEWEST = f"""{TRUSTED}
    SELECT tree.last, newest.*
    FROM (SELECT max(index) AS last FROM public.audit_leaf) AS tree
    LEFT JOIN LATERAL (
        SELECT size, note FROM public.audit_checkpoint ORDER BY size DESC LIMIT {LOOKED_AT}
    ) AS newest ON true
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class Newest:
    """The newest checkpoint in the database that a known key has signed.

    Attributes:
        statement: what it says; None if there is none.
        note: its text; "" if there is none.
        unsigned: the sizes of newer ones that no known key has signed.
        leaves: of the tree; the checkpoint has as many unless somebody else wrote there.
    """

    statement: Statement | None
    note: str
    unsigned: list[int]
    leaves: int

    @property
    def size(self) -> int:
        return self.statement.size if self.statement else 0

    @property
    def horizon(self) -> Horizon:
        return self.statement.horizon if self.statement else Horizon()


def newest(keys: Sequence[PublicKey]) -> Newest:
    """Reads it, among the LOOKED_AT newest ones; one of the keys must have signed it."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST)
        cursor.nextset()
        rows = cursor.fetchall()
    last = rows[0][0]
    leaves = 0 if last is None else last + 1
    unsigned: list[int] = []
    for _, size, note in rows:
        if size is None:
            continue
        with contextlib.suppress(NoteError):
            statement = Statement.opened(note, keys)
            if statement.size == size:
                return Newest(statement, note, unsigned, leaves)
        unsigned.append(size)
    return Newest(None, "", unsigned, leaves)


def stored(start: int, stop: int) -> dict[Statement, str]:
    """The database's checkpoints of trees larger than `start`, up to `stop` leaves, by size.

    With what each says, its note; the signatures are not checked.
    """
    found = {}
    rows = Checkpoint.objects.filter(size__gt=start, size__lte=stop).order_by("size")
    for size, note in rows.values_list("size", "note"):
        with contextlib.suppress(NoteError):
            statement = Statement.unchecked(note)
            if statement.size == size:
                found[statement] = note
    return found


def read_file(path: Path, keys: Sequence[PublicKey]) -> list[Statement]:
    """The checkpoints that a witness has kept, by size: about one for each LEAVES.

    A file of a year has millions. If the sizes begin again, after a restore, the last one before
    is among them too. Raises NoteError if it has none, or if no known key has signed one.
    """
    kept: list[tuple[int, str]] = []
    with path.open(errors="replace") as file:
        for note in read_notes(file):
            size = Statement.unchecked(note).size
            if kept and kept[-1][0] <= size < (kept[-1][0] // LEAVES + 1) * LEAVES:
                kept.pop()
            kept.append((size, note))
    if not kept:
        raise NoteError("it has no checkpoint")
    return sorted((Statement.opened(note, keys) for _, note in kept), key=lambda each: each.size)
