"""Finds entries that were sealed late, by the signed times of checkpoints.

Until it was sealed, an entry could be changed and nothing would show it. That is no damage: after
a sealer was down for an hour, its entries were sealed late for ever.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain

from audit.models import Checkpoint
from audit.tree.note import NoteError, PublicKey, Statement
from audit.tree.reading import LeafRow
from audit.tree.state import LATE_SECONDS

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
        # A checkpoint that has the latest leaf: entries before its limit were sealed late, if it
        # is the first one with that leaf; others have been sealed in time.
        self._size, self._limit, self._first = 0, b"", True
        self._sealed_at = datetime.max.replace(tzinfo=UTC)  # of that checkpoint

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
            if row.created_at and self._is_late(row):
                self.count += 1
                late = self._sealed_at - _time(row)
                if self._ranges and row.leaf - self._ranges[-1][1].leaf < APART:
                    first, _, count, longest = self._ranges.pop()
                    self._ranges.append((first, row, count + 1, max(longest, late)))
                else:
                    self._ranges.append((row, row, 1, late))

    def _is_late(self, row: LeafRow) -> bool:
        if row.leaf >= self._size or (row.created_at < self._limit and not self._first):
            self._find_checkpoint(row)
        return row.created_at < self._limit

    def _find_checkpoint(self, row: LeafRow) -> None:
        """The last signed one with this leaf that is in time; else the first one at all."""
        later = Checkpoint.objects.filter(size__gt=row.leaf).order_by("size")
        end = _time(row) + LATE
        in_time = [each for each in later[:AT_ONCE] if each.sealed_at <= end]
        for checkpoint in chain(reversed(in_time), later.iterator(AT_ONCE)):
            with suppress(NoteError):
                signed = Statement.opened(checkpoint.note, self._keys)
                self._size, self._first = signed.size, signed.sealed_at > end
                self._sealed_at = signed.sealed_at
                limit = signed.sealed_at - LATE
                self._limit = limit.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
                return
        self._size, self._limit = row.leaf + 1, b""  # that none is signed is said elsewhere


def _time(row: LeafRow) -> datetime:
    return datetime.fromisoformat(row.created_at.decode())
