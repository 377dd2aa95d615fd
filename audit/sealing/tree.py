"""The Merkle tree, its hashes and its inclusion proofs, as in section 2.1 of RFC 9162."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

from audit.models import Leaf, Subtree

EMPTY_ROOT = sha256().digest()
# The database stores the hashes of complete subtrees of 256, 65,536, … leaves, so that a proof
# reads a few hundred hashes and not all of them.
STORED_BITS = 8
LEVELS = 64 // STORED_BITS  # the leaves are one, the subtrees of each stored size another


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree to which leaves are appended; it keeps one hash for each bit of its size.

    Args:
        hashes: of the complete subtrees of a tree of `size` leaves, the largest first.
    """

    def __init__(self, size: int = 0, hashes: Sequence[bytes] = ()) -> None:
        self.size = size
        self.hashes = list(hashes)

    def append(self, leaf: bytes) -> list[tuple[int, int, bytes]]:
        """Adds a leaf by its hash.

        Returns the subtrees to store that are complete now: (level, index in the level, hash).
        """
        hashes, index, bits, found = self.hashes, self.size, 0, leaf
        complete = []
        while index & 1:
            found = sha256(b"\x01" + hashes.pop() + found).digest()
            index >>= 1
            bits += 1
            if not bits % STORED_BITS:
                complete.append((bits // STORED_BITS, index, found))
        hashes.append(found)
        self.size += 1
        return complete

    def root(self) -> bytes:
        return root_of(self.hashes)


def root_of(hashes: Sequence[bytes]) -> bytes:
    """The root over complete subtrees side by side, the largest first."""
    if not hashes:
        return EMPTY_ROOT
    *others, root = hashes
    for left in reversed(others):
        root = node_hash(left, root)
    return root


def split(size: int) -> int:
    """The size of the left subtree: the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def root_of_proof(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes | None:
    """The root that an inclusion proof of a leaf's hash leads to; None if its length is wrong."""
    if size == 1 or not proof:
        return None if size > 1 or proof else leaf
    *others, sibling = proof
    middle = split(size)
    if index < middle:
        left = root_of_proof(leaf, index, middle, others)
        return left and node_hash(left, sibling)
    right = root_of_proof(leaf, index - middle, size - middle, others)
    return right and node_hash(sibling, right)


BLOCK = 1 << STORED_BITS  # hashes that are read at once
CACHED_BLOCKS = 64  # 8 KB each


class TreeDamaged(Exception):
    """The database lacks hashes of the tree, or has others than were signed."""


class StoredTree:
    """Reads the tree, for one proof or for many of the same size."""

    def __init__(self) -> None:
        self._block = lru_cache(CACHED_BLOCKS)(_read_block)
        # The large subtrees are in many proofs.
        self.complete = lru_cache(CACHED_BLOCKS * BLOCK)(self._complete)

    def frontier(self, size: int) -> Frontier:
        """The tree of the first `size` leaves, to append to."""
        return Frontier(size, self._hashes(0, size))

    def proof(self, index: int, size: int) -> list[bytes]:
        """The inclusion proof of a leaf in the tree of the first `size` leaves."""
        start, stop, found = 0, size, []
        while stop - start > 1:
            middle = start + split(stop - start)
            if index < middle:
                found.append(root_of(self._hashes(middle, stop)))
                stop = middle
            else:
                found.append(root_of(self._hashes(start, middle)))
                start = middle
        return found[::-1]

    def _hashes(self, start: int, stop: int) -> list[bytes]:
        """Of the complete subtrees of leaves[start:stop], the largest first.

        `start` is a multiple of that one's size.
        """
        found = []
        while start < stop:
            size = 1 << (stop - start).bit_length() - 1
            found.append(self.complete(start, start + size))
            start += size
        return found

    def _complete(self, start: int, stop: int) -> bytes:
        """The root of leaves[start:stop], a complete subtree."""
        bits = (stop - start).bit_length() - 1
        level = bits // STORED_BITS
        first, count = start >> level * STORED_BITS, 1 << bits % STORED_BITS
        hashes = self._block(level, first // BLOCK)[first % BLOCK : first % BLOCK + count]
        if len(hashes) < count:
            raise TreeDamaged(f"hashes of the leaves {start:,} to {stop - 1:,} are missing")
        while len(hashes) > 1:
            pairs = zip(hashes[::2], hashes[1::2], strict=True)
            hashes = [node_hash(left, right) for left, right in pairs]
        return hashes[0]


def _read_block(level: int, number: int) -> list[bytes]:
    """The stored hashes of one level, 256 side by side; fewer at the right edge."""
    nodes = Subtree.objects.filter(level=level) if level else Leaf.objects.all()
    of_block = nodes.filter(index__gte=number * BLOCK, index__lt=(number + 1) * BLOCK)
    return [bytes(found) for found in of_block.order_by("index").values_list("hash", flat=True)]
