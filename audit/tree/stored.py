"""The tree as the database has it: hashes of subtrees, frontiers and proofs."""

from functools import lru_cache

from audit.models import Leaf, Subtree
from audit.tree import merkle
from audit.tree.merkle import STORED_BITS, Frontier, HashOf

BLOCK = 1 << STORED_BITS  # hashes that are read at once
CACHED_BLOCKS = 64  # 8 KB each


class TreeDamaged(Exception):
    """The database lacks hashes of the tree, or has others than were signed."""


class StoredTree:
    """Reads the tree, for one proof or for many of the same size."""

    def __init__(self) -> None:
        self._block = lru_cache(CACHED_BLOCKS)(_read_block)
        # The large subtrees are in many proofs.
        self.complete: HashOf = lru_cache(CACHED_BLOCKS * BLOCK)(self._complete)

    def frontier(self, size: int) -> Frontier:
        """The tree of the first `size` leaves, to append to.

        Raises:
            TreeDamaged: hashes are missing.
        """
        return Frontier(size, [self.complete(*each) for each in merkle.complete_subtrees(size)])

    def root(self, size: int) -> bytes:
        """The root of the first `size` leaves.

        Raises:
            TreeDamaged: hashes are missing.
        """
        return self.frontier(size).root()

    def proof(self, index: int, size: int) -> list[bytes]:
        """The inclusion proof of a leaf in the tree of the first `size` leaves.

        Raises:
            TreeDamaged: hashes are missing.
        """
        return merkle.inclusion_proof(index, size, self.complete)

    def _complete(self, start: int, stop: int) -> bytes:
        """The hash of a complete subtree."""
        bits = (stop - start).bit_length() - 1
        level = bits // STORED_BITS
        first, count = start >> level * STORED_BITS, 1 << bits % STORED_BITS
        hashes = self._block(level, first // BLOCK)[first % BLOCK : first % BLOCK + count]
        if len(hashes) < count:
            raise TreeDamaged(f"hashes of the leaves {start:,} to {stop - 1:,} are missing")
        while len(hashes) > 1:
            pairs = zip(hashes[::2], hashes[1::2], strict=True)
            hashes = [merkle.node_hash(left, right) for left, right in pairs]
        return hashes[0]


def _read_block(level: int, number: int) -> list[bytes]:
    """The stored hashes of one level, 256 side by side; fewer at the right edge."""
    nodes = Subtree.objects.filter(level=level) if level else Leaf.objects.all()
    of_block = nodes.filter(index__gte=number * BLOCK, index__lt=(number + 1) * BLOCK)
    return [bytes(found) for found in of_block.order_by("index").values_list("hash", flat=True)]
