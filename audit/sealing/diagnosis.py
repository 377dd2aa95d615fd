"""Says in sentences what is wrong with entries or with the tree, and what was sealed late."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain

from audit.models import Checkpoint
from audit.sealing.keys import NoteError, PublicKey
from audit.sealing.leaves import LeafRow
from audit.sealing.note import Statement
from audit.sealing.state import EVER, LATE_SECONDS
from audit.sealing.tree import Frontier


def at(statement: Statement) -> str:
    """The time of a checkpoint."""
    return f"{statement.sealed_at:%Y-%m-%d %H:%M:%S} UTC"


def of_entries(rows: Sequence[LeafRow]) -> list[str]:
    """A sentence for each entry that is not what its leaf's hash says."""
    differing = [row for row in rows if row.computed != row.stored]
    sealed_as = {row.stored: row.leaf for row in differing}
    sentences = []
    for row in differing:
        if row.computed is None:
            sentences.append(_missing(row))
        elif row.computed in sealed_as:
            sentences.append(_reordered(row, sealed_as[row.computed]))
        else:
            sentences.append(
                f"Entry {row.entry_id} was changed after it was sealed (leaf {row.leaf})."
            )
    return sentences


def _missing(row: LeafRow) -> str:
    return f"Entry {row.entry_id} is missing (leaf {row.leaf})."


def _reordered(row: LeafRow, was: int) -> str:
    return f"Entry {row.entry_id} was reordered: it was leaf {was} and is leaf {row.leaf}."


def of_window(
    before: Frontier, rows: Sequence[LeafRow], signed: Statement, hints: Sequence[Statement]
) -> tuple[Frontier | None, list[str]]:
    """What is wrong with leaves whose root is not the signed one.

    Args:
        before: the tree before these leaves.
        signed: the checkpoint after them.
        hints: checkpoints within them, by size.

    Returns:
        The tree that was signed, if it could be found, and the sentences.
    """
    start = before.size
    sizes = [each.size for each in hints]
    changed = [row for row in rows if row.computed not in (None, row.stored)]
    tree = _grown(before, [row.computed or row.stored for row in rows])
    if tree.root() == signed.root:
        hashes = [
            f"The stored hash of leaf {row.leaf} was changed; entry {row.entry_id} is as it was "
            "signed."
            for row in changed
        ]
        return tree, hashes + [_missing(row) for row in rows if row.computed is None]
    # The sealer orders the entries of each seal by id.
    for bounds in ([start, *sizes], [start, signed.size]):
        in_order = _sorted(rows, start, bounds)
        tree = _grown(before, [row.stored for row in in_order])
        if tree.root() == signed.root:
            moved = [
                _reordered(row, start + position)
                for position, row in enumerate(in_order)
                if row.leaf != start + position
            ]
            return tree, moved + of_entries(rows)
    first, last = _differing_part(before, rows, hints)
    part = [row.entry_id for row in rows if first <= row.leaf < last]
    return None, [
        *of_entries(rows),
        f"Among the entries {min(part)} to {max(part)} (leaves {first} to {last - 1}), some were "
        "changed, added or reordered together with their hashes: the checkpoint of "
        f"{at(signed)} has another root. Later leaves cannot be compared with checkpoints.",
    ]


def _grown(tree: Frontier, leaves: Sequence[bytes]) -> Frontier:
    grown = tree.copy()
    for leaf in leaves:
        grown.append(leaf)
    return grown


def _sorted(rows: Sequence[LeafRow], start: int, bounds: Sequence[int]) -> list[LeafRow]:
    """The rows, in the order of their ids between each two bounds."""
    found: list[LeafRow] = []
    for low, high in zip(bounds, [*bounds[1:], start + len(rows)], strict=True):
        found += sorted(rows[low - start : high - start], key=lambda row: row.entry_id)
    return found


def _differing_part(
    before: Frontier, rows: Sequence[LeafRow], hints: Sequence[Statement]
) -> tuple[int, int]:
    """The leaves [first, last) before the first checkpoint that the tree differs from."""
    tree = before.copy()
    first = tree.size
    by_size = {each.size: each for each in hints}
    for row in rows:
        tree.append(row.stored)
        if signed := by_size.get(tree.size):
            if signed.root != tree.root():
                return first, tree.size
            first = tree.size
    return first, tree.size


LATE = timedelta(seconds=LATE_SECONDS)
AT_ONCE = 200  # checkpoints; a few more than are signed in that time
APART = 1000  # leaves between two ranges


class Lateness:
    """Looks at all leaves in their order. It checks one signature for about ten minutes of the log.

    Attributes:
        count: of the entries that were sealed late.
        warnings: a sentence for each range of them.
    """

    def __init__(self, keys: Sequence[PublicKey]) -> None:
        self.count = 0
        self._ranges: list[tuple[LeafRow, LeafRow, int, timedelta]] = []
        self._keys = keys
        # A checkpoint that has the latest leaf: entries that are LATE for it were sealed late, if
        # it is the first one with that leaf; others have been sealed in time.
        self._size, self._first, self._sealed_at = 0, True, EVER

    @property
    def warnings(self) -> list[str]:
        return [
            f"Among the entries {first.entry_id} to {last.entry_id} (leaves {first.leaf} to "
            f"{last.leaf}), {count:,} were sealed up to {longest // timedelta(minutes=1):,} "
            "minutes after they were written. Who owns the database could have changed them "
            "meanwhile, and nothing would show it."
            for first, last, count, longest in self._ranges
        ]

    def check(self, rows: Sequence[LeafRow]) -> None:
        """Looks at the next leaves; those without an entry are skipped."""
        for row in rows:
            if row.created_at and (waited := self._waited(row.leaf, row.created_at)) > LATE:
                self.count += 1
                if self._ranges and row.leaf - self._ranges[-1][1].leaf < APART:
                    first, _, count, longest = self._ranges.pop()
                    self._ranges.append((first, row, count + 1, max(longest, waited)))
                else:
                    self._ranges.append((row, row, 1, waited))

    def _waited(self, leaf: int, created_at: datetime) -> timedelta:
        """How long the entry has waited for its seal."""
        waited = self._sealed_at - created_at
        if leaf >= self._size or (waited > LATE and not self._first):
            self._find_checkpoint(leaf, created_at + LATE)
            waited = self._sealed_at - created_at
        return waited

    def _find_checkpoint(self, leaf: int, end: datetime) -> None:
        """The last signed one with this leaf that is in time; else the first one at all."""
        later = Checkpoint.objects.filter(size__gt=leaf).order_by("size")
        in_time = [each for each in later[:AT_ONCE] if each.sealed_at <= end]
        for checkpoint in chain(reversed(in_time), later.iterator(AT_ONCE)):
            with suppress(NoteError):
                signed = Statement.opened(checkpoint.note, self._keys)
                self._size, self._first = signed.size, signed.sealed_at > end
                self._sealed_at = signed.sealed_at
                return
        self._size, self._sealed_at = leaf + 1, EVER  # that none is signed is said elsewhere
