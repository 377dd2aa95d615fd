"""Checkpoints to compare the tree with: those in the database, and those of a witness."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from audit.models import Checkpoint
from audit.tree.note import NoteError, PublicKey, Statement, read_notes, split_note


def stored(start: int, stop: int) -> list[Statement]:
    """What the database's checkpoints say of trees larger than `start`, up to `stop` leaves.

    Their signatures are not checked: an owner of the database can write others. They only help to
    find where a tree differs.
    """
    found = []
    rows = Checkpoint.objects.filter(size__gt=start, size__lte=stop).order_by("size")
    for note in rows.values_list("note", flat=True):
        with contextlib.suppress(NoteError):
            found.append(_unchecked(note))
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
                yield _unchecked(note).size, note


def _unchecked(note: str) -> Statement:
    return Statement.parse(split_note(note)[0])
