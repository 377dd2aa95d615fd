"""Checkpoints to compare the tree with: those in the database, and those of a witness."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from audit.models import Checkpoint
from audit.sealing.keys import NoteError, PublicKey
from audit.sealing.note import Horizon, Statement, read_notes

LOOKED_AT = 8  # of the newest checkpoints; one of them should be signed

# One statement, so that the leaves are those of the same moment.
_NEWEST = f"""
    SELECT tree.leaves, newest.* FROM (SELECT max(index) + 1 AS leaves FROM audit_leaf) AS tree
    LEFT JOIN LATERAL (
        SELECT {", ".join(str(field.column) for field in Checkpoint._meta.concrete_fields)}
        FROM audit_checkpoint ORDER BY size DESC LIMIT {LOOKED_AT}
    ) AS newest ON true
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class Newest:
    """The newest checkpoint in the database that a known key has signed.

    Attributes:
        checkpoint: None if there is none.
        statement: what it says; None if there is none.
        unsigned: the sizes of newer ones that no known key has signed.
        leaves: of the tree; the checkpoint has as many unless somebody else wrote there.
    """

    checkpoint: Checkpoint | None
    statement: Statement | None
    unsigned: list[int]
    leaves: int

    @property
    def size(self) -> int:
        return self.statement.size if self.statement else 0

    @property
    def horizon(self) -> Horizon:
        """As it was signed; releases before have not signed it."""
        if self.checkpoint is None or self.statement is None:
            return Horizon()
        return self.statement.horizon or Horizon(
            self.checkpoint.complete_to,
            self.checkpoint.next_complete_to,
            self.checkpoint.next_transaction,
        )


def newest(
    keys: Sequence[PublicKey], connection: BaseDatabaseWrapper = default_connection
) -> Newest:
    """Reads it, among the LOOKED_AT newest ones.

    Args:
        keys: those that may have signed; without any, the newest one counts, signed or not.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST)
        rows = cursor.fetchall()
    leaves = rows[0][0] or 0
    unsigned: list[int] = []
    for _, *values in rows:
        if values[0] is None:
            continue
        checkpoint = Checkpoint(*values)
        with contextlib.suppress(NoteError):
            note = checkpoint.note
            statement = Statement.opened(note, keys) if keys else Statement.unchecked(note)
            if statement.size == checkpoint.size:
                return Newest(checkpoint, statement, unsigned, leaves)
        unsigned.append(checkpoint.size)
    return Newest(None, None, unsigned, leaves)


def stored(start: int, stop: int) -> list[Statement]:
    """What the database's checkpoints say of trees larger than `start`, up to `stop` leaves.

    Their signatures are not checked: an owner of the database can write others. They only help to
    find where a tree differs.
    """
    found = []
    rows = Checkpoint.objects.filter(size__gt=start, size__lte=stop).order_by("size")
    for note in rows.values_list("note", flat=True):
        with contextlib.suppress(NoteError):
            found.append(Statement.unchecked(note))
    return found


class CheckpointFile:
    """The checkpoints that a witness has kept; their signatures are checked.

    Raises:
        NoteError: it has none.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, keys: Sequence[PublicKey]) -> None:
        self._path = path
        self._keys = keys
        if next(self._notes(), None) is None:
            raise NoteError("it has no checkpoint")

    def one_for_each(self, leaves: int) -> Iterator[Statement]:
        """About one for each so many leaves, since a file of a year has millions.

        If the sizes begin again, after a restore, the last one before is among them too.

        Raises:
            NoteError: no known key has signed one.
        """
        last: tuple[int, str] | None = None
        for size, note in self._notes():
            if last and not last[0] <= size < (last[0] // leaves + 1) * leaves:
                yield Statement.opened(last[1], self._keys)
            last = size, note
        if last:
            yield Statement.opened(last[1], self._keys)

    def within(self, start: int, stop: int) -> list[Statement]:
        """Those of trees larger than `start`, up to `stop` leaves, by size."""
        found = [
            Statement.opened(note, self._keys)
            for size, note in self._notes()
            if start < size <= stop
        ]
        return sorted(found, key=lambda statement: statement.size)

    def _notes(self) -> Iterator[tuple[int, str]]:
        with self._path.open(errors="replace") as file:
            for note in read_notes(file):
                yield Statement.unchecked(note).size, note
