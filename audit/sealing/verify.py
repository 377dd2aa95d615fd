"""Reads the whole audit log and compares it with the tree and with signed checkpoints.

It reads leaves in windows that end at a checkpoint, in one snapshot of the database, so it needs
as much memory for ten million entries as for ten thousand. The stored hashes of the leaves are
right if their root is the signed one; then they show which entries differ.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby

from django.db import connection, transaction
from django.db.models import Count, Exists, Max, OuterRef, Q

from audit.models import AuditEntry, Leaf, Subtree
from audit.sealing import checkpoints
from audit.sealing.checkpoints import Newest
from audit.sealing.keys import NoteError, PublicKey
from audit.sealing.leaves import TRUSTED, LeafRow, read_leaves
from audit.sealing.note import Statement, signer
from audit.sealing.state import EVER, LATE_SECONDS
from audit.sealing.tree import LEVELS, STORED_BITS, Frontier
from config.management.progress import Progress
from config.management.shutdown import Shutdown

WINDOW = 16_384  # leaves that are read at once, about 10 MB
FETCHED = 10_000  # ids at a time
# An entry whose time is this long before an older leaf's was not written when it says. A
# transaction that commits late is no reason for that.
BACKDATED = timedelta(days=1)
LATE = timedelta(seconds=LATE_SECONDS)


@dataclass
class Result:
    """What a verification has found.

    Attributes:
        sealed: leaves that were read.
        unsealed: entries that wait for the next seal.
        newest: the newest signed checkpoint in the database.
        since: when sealing began, to the minute; None if no checkpoint is signed.
        older: the number of entries that were written long before that.
        late: the number of others that were sealed late, which is no problem.
        first_late, last_late: the first and the last late one.
        longest: the longest time that a late one has waited for its seal.
    """

    sealed: int = 0
    unsealed: int = 0
    newest: Statement | None = None
    since: datetime | None = None
    older: int = 0
    late: int = 0
    first_late: LeafRow | None = None
    last_late: LeafRow | None = None
    longest: timedelta = timedelta()

    @property
    def warning(self) -> str:
        """A sentence about the entries that were sealed late; "" without any."""
        first, last = self.first_late, self.last_late
        if not (first and last):
            return ""
        return (
            f"Among the entries {first.entry_id} to {last.entry_id} (leaves {first.leaf} to "
            f"{last.leaf}), {self.late:,} were sealed up to "
            f"{self.longest // timedelta(minutes=1):,} minutes after they were written. Who owns "
            "the database could have changed them meanwhile, and nothing would show it."
        )


@dataclass
class Verifier:
    """Verifies the audit log once.

    Attributes:
        outside: checkpoints that a witness has kept, by size; their signatures were checked.
        problem: called with each, a sentence.
    """

    keys: Sequence[PublicKey]
    outside: Sequence[Statement]
    problem: Callable[[str], object]
    progress: Progress
    shutdown: Shutdown
    result: Result = field(default_factory=Result)
    _tree: Frontier | None = field(default_factory=Frontier)  # None once it is not the signed one
    _latest: datetime = datetime.min.replace(tzinfo=UTC)  # the latest time of an entry so far
    _before_seals: bool = True  # all entries so far were written before sealing began

    @transaction.atomic(durable=True)
    def run(self) -> Result:
        """Raises Stopped if a signal asked the process to end."""
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY; {TRUSTED}")
        newest = checkpoints.newest(self.keys)
        self.result.newest = newest.statement
        self.result.sealed = leaves = self._check_size(newest)
        start = 0
        while start < leaves:
            self.shutdown.check()
            self.progress.note(f"{start:,} of {leaves:,} sealed entries verified …")
            start = self._check_window(start, leaves)
        self._check_entries_without_leaf(newest)
        return self.result

    def _check_size(self, newest: Newest) -> int:
        """Compares the number of leaves with the largest checkpoint; returns how many to read."""
        signed = list(self.outside[-1:])
        for each in newest.unsigned:
            self.problem(
                f"The checkpoint of {each:,} entries in the database is not signed by a known key."
            )
        if newest.statement:
            signed.append(newest.statement)
        largest = max(signed, key=lambda statement: statement.size, default=None)
        found = Leaf.objects.aggregate(rows=Count("*"), last=Max("index", default=-1))
        leaves: int = min(found["last"] + 1, largest.size if largest else found["rows"])
        if largest and leaves < largest.size:
            self.problem(
                f"The log was truncated: the checkpoint of {_at(largest)} has {largest.size:,} "
                f"entries; the last {largest.size - leaves:,} are missing."
            )
        elif leaves and not largest:
            self.problem(f"{leaves:,} entries have leaves, but no checkpoint is signed.")
        others = Leaf.objects.exclude(index__gte=0, index__lt=leaves).order_by("index")
        for leaf in others[:FETCHED]:
            self.problem(
                f"Leaf {leaf.index}, of entry {leaf.entry_id}, is in no signed checkpoint."
            )
        signed_hashes = Q()
        for level in range(1, LEVELS):
            count = leaves >> level * STORED_BITS
            signed_hashes |= Q(level=level, index__gte=0, index__lt=count)
        for subtree in Subtree.objects.exclude(signed_hashes).order_by("pk")[:FETCHED]:
            self.problem(f"The stored hash {subtree} is of leaves that no signed checkpoint has.")
        return leaves

    def _check_window(self, start: int, leaves: int) -> int:
        """Checks leaves from `start` to the window's last checkpoint; returns how many it has."""
        stop = min(start + WINDOW, leaves)
        notes = checkpoints.stored(start, stop)
        outside = [each for each in self.outside if start < each.size <= stop]
        unchecked = {each: note for each, note in notes.items() if each not in outside}
        statements = sorted([*notes, *outside], key=lambda each: each.size)
        stop = statements[-1].size if statements else stop
        rows = read_leaves(start, stop)
        for index in sorted(set(range(start, stop)) - {row.leaf for row in rows}):
            self.problem(f"Leaf {index:,} is missing, and which entry it was of is unknown.")
            self._tree = None
        self._check_times(rows)
        self._check_seals(rows, notes)
        first = 0
        for size, group in groupby(statements, key=lambda each: each.size):
            end = bisect_left(rows, size, key=lambda row: row.leaf)
            self._check_part(rows[first:end], list(group), unchecked)
            first = end
        self._check_part(rows[first:], [], unchecked)
        return stop

    def _check_part(
        self,
        rows: Sequence[LeafRow],
        statements: Sequence[Statement],
        unchecked: Mapping[Statement, str],
    ) -> None:
        """Compares entries with their leaves, and the leaves with the checkpoints after them.

        Args:
            rows: from the checkpoint before to this one.
            statements: what the checkpoints of the tree that ends with these leaves say.
            unchecked: the notes of those that nobody has checked; no witness has them.
        """
        differing = [row for row in rows if row.computed != row.stored]
        changed = "Entry {0.entry_id} was changed or moved after it was sealed (leaf {0.leaf})."
        if self._tree is not None:
            before = self._tree
            self._tree, subtrees = _grown(before, [row.stored for row in rows])
            wrong = [each for each in statements if each.root != self._tree.root()]
            wrong = [each for each in wrong if self._signed(unchecked.get(each))]
            if wrong:
                signed = wrong[0]
                self._tree, subtrees = _grown(before, [row.computed or row.stored for row in rows])
                if self._tree.root() == signed.root:
                    changed = (
                        "The stored hash of leaf {0.leaf} was changed; entry {0.entry_id} is as it "
                        "was signed."
                    )
                else:
                    self._tree, subtrees = None, []
                    ids = [row.entry_id for row in rows]
                    self.problem(
                        f"Among the entries {min(ids)} to {max(ids)} (leaves {rows[0].leaf} to "
                        f"{rows[-1].leaf}), some were changed, added or reordered together with "
                        f"their hashes: the checkpoint of {_at(signed)} has another root. Later "
                        "leaves cannot be compared with checkpoints."
                    )
            self._check_subtrees(subtrees)
        for row in differing:
            missing = "Entry {0.entry_id} is missing (leaf {0.leaf})."
            self.problem((changed if row.computed else missing).format(row))

    def _signed(self, note: str | None) -> bool:
        """Whether a known key has signed the note; None is one that was checked before."""
        with suppress(NoteError):
            return note is None or bool(signer(note, self.keys))
        return False

    def _check_subtrees(self, computed: Sequence[tuple[int, int, bytes]]) -> None:
        stored = Subtree.objects.in_bulk([(level, index) for level, index, _ in computed])
        for level, index, found in computed:
            subtree = stored.get((level, index))
            if subtree is None or bytes(subtree.hash) != found:
                first, count = index << level * STORED_BITS, 1 << level * STORED_BITS
                self.problem(
                    f"The stored hash of the leaves {first:,} to {first + count - 1:,} was "
                    "changed; that makes no entry wrong, but no proof can be made with it."
                )

    def _check_times(self, rows: Sequence[LeafRow]) -> None:
        """Finds entries that say that they are much older than entries sealed before them."""
        for row in rows:
            time = row.created_at or self._latest
            if time >= self._latest:
                self._latest = time
            elif self._latest - time > BACKDATED:
                self.problem(
                    f"Entry {row.entry_id} was dated back: it says {time:%Y-%m-%dT%H:%M:%S.%fZ}, "
                    "and an entry that was sealed before it is more than a day younger."
                )

    def _check_seals(self, rows: Sequence[LeafRow], notes: Mapping[Statement, str]) -> None:
        """Finds entries that were sealed late, to the minute: of each one signature is checked."""
        minutes = groupby(notes, key=lambda each: f"{each.sealed_at:%Y-%m-%d %H:%M}")
        last_ones = (list(group)[-1] for _, group in minutes)
        signed = (each for each in last_ones if self._signed(notes[each]))
        size, sealed_at, result = 0, EVER, self.result
        for row in rows:
            while size <= row.leaf:
                following = next(signed, None)
                size = following.size if following else row.leaf + 1
                sealed_at = following.sealed_at if following else EVER
                result.since = result.since or (sealed_at if following else None)
            if row.created_at is None:
                continue
            self._before_seals &= result.since is not None and row.created_at <= result.since
            if (waited := sealed_at - row.created_at) > LATE and self._before_seals:
                result.older += 1
            elif waited > LATE:
                result.late += 1
                result.first_late = result.first_late or row
                result.last_late = row
                result.longest = max(result.longest, waited)

    def _check_entries_without_leaf(self, newest: Newest) -> None:
        self.progress.note("Looking for entries that were never sealed …")
        complete_to = newest.horizon.complete_to
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_mergejoin = on; SET LOCAL enable_hashjoin = on")
        leaf = Leaf.objects.filter(entry_id=OuterRef("pk"))
        found = AuditEntry.objects.filter(~Exists(leaf)).order_by("pk").values_list("pk", flat=True)
        for entry_id in found.iterator(FETCHED):
            self.shutdown.check()
            if entry_id > complete_to:
                self.result.unsealed += 1
            else:
                self.problem(
                    f"Entry {entry_id} was added later, or lost its leaf: all entries up to "
                    f"{complete_to} were sealed."
                )


def _at(statement: Statement) -> str:
    return f"{statement.sealed_at:%Y-%m-%d %H:%M:%S} UTC"


def _grown(
    tree: Frontier, leaves: Sequence[bytes]
) -> tuple[Frontier, list[tuple[int, int, bytes]]]:
    grown = Frontier(tree.size, tree.hashes)
    return grown, [each for leaf in leaves for each in grown.append(leaf)]
