"""Says in one sentence what is wrong with an entry, or with a part of the tree."""

from collections.abc import Sequence

from audit.tree.merkle import Frontier
from audit.tree.note import Statement
from audit.tree.reading import LeafRow


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
