"""Reads the whole audit log and compares it with the tree and with signed checkpoints.

It reads leaves in windows that end at a checkpoint, in one snapshot of the database, so it needs
as much memory for ten million entries as for ten thousand. The stored hashes of the leaves are
right if their root is the signed one; then they show which entries differ.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import Count, Max

from audit.models import Checkpoint, Leaf, Subtree
from audit.sealing import checkpoints, diagnosis
from audit.sealing.checkpoints import CheckpointFile, Newest
from audit.sealing.diagnosis import Lateness
from audit.sealing.keys import PublicKey
from audit.sealing.leaves import LeafRow, read_leaves
from audit.sealing.note import Statement
from audit.sealing.tree import STORED_BITS, Frontier
from config.management.progress import Progress
from config.management.shutdown import Shutdown

WINDOW = 16_384  # leaves that are read at once, about 10 MB
FETCHED = 10_000  # ids at a time
# An entry whose time is this long before an older leaf's was not written when it says. A
# transaction that commits late is no reason for that.
BACKDATED = timedelta(days=1)

_WITHOUT_LEAF = """
    SELECT entry.id FROM audit_auditentry AS entry
    LEFT JOIN audit_leaf AS leaf ON leaf.entry_id = entry.id
    WHERE leaf.entry_id IS NULL ORDER BY entry.id
"""


@dataclass
class Result:
    """What a verification has found.

    Attributes:
        sealed: leaves that were read.
        unsealed: entries that wait for the next seal.
        problems: sentences that were reported.
        checkpoint: the newest in the database that is signed.
        late: entries that were sealed late.
        warnings: sentences about those; they are no problems.
    """

    sealed: int = 0
    unsealed: int = 0
    problems: int = 0
    checkpoint: Checkpoint | None = None
    late: int = 0
    warnings: list[str] = field(default_factory=list)


class Verifier:
    """Verifies the audit log once.

    Args:
        keys: the public keys that may have signed.
        outside: the checkpoints that a witness has kept, if there are any.
        found: called with each problem, a sentence.
    """

    def __init__(
        self,
        keys: Sequence[PublicKey],
        outside: CheckpointFile | None,
        found: Callable[[str], object],
        progress: Progress,
        shutdown: Shutdown,
    ) -> None:
        self.result = Result()
        self._keys = keys
        self._lateness = Lateness(keys)
        self._hints = outside.within if outside else checkpoints.stored
        kept = outside.one_for_each(WINDOW) if outside else []
        self._outside = sorted(kept, key=lambda statement: statement.size)
        self._found = found
        self._progress = progress
        self._shutdown = shutdown
        self._tree: Frontier | None = Frontier()  # None once it differs from the signed one
        self._latest = datetime.min.replace(tzinfo=UTC)  # the latest time of an entry so far

    @transaction.atomic(durable=True)
    def run(self) -> Result:
        """Reads everything.

        Raises:
            Stopped: a signal asked the process to end.
            django.db.Error: the database is out of reach.
        """
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        newest = checkpoints.newest(self._keys)
        self.result.checkpoint = newest.checkpoint
        leaves = self._check_size(newest)
        start = 0
        while start < leaves:
            self._shutdown.check()
            self._progress.note(f"{start:,} of {leaves:,} sealed entries verified …")
            stop, signed = self._window(start, leaves)
            self._check_window(start, stop, signed)
            start = stop
        self.result.sealed = leaves
        self.result.late, self.result.warnings = self._lateness.count, self._lateness.warnings
        self._check_entries_without_leaf(newest)
        return self.result

    def _problem(self, sentence: str) -> None:
        self.result.problems += 1
        self._found(sentence)

    def _check_size(self, newest: Newest) -> int:
        """Compares the number of leaves with the largest checkpoint; returns how many to read."""
        signed = list(self._outside[-1:])
        for each in newest.unsigned:
            self._problem(
                f"The checkpoint of {each:,} entries in the database is not signed by a known key."
            )
        if newest.statement:
            signed.append(newest.statement)
        size = max((statement.size for statement in signed), default=0)
        found = Leaf.objects.aggregate(rows=Count("*"), last=Max("index", default=-1))
        leaves: int = min(found["last"] + 1, size if signed else found["rows"])
        if leaves and not signed:
            self._problem(f"{leaves:,} entries have leaves, but no checkpoint is signed.")
        elif leaves < size:
            largest = max(signed, key=lambda statement: statement.size)
            self._problem(
                f"The log was truncated: the checkpoint of {diagnosis.at(largest)} has "
                f"{size:,} entries; the last {size - leaves:,} are missing."
            )
        others = Leaf.objects.exclude(index__gte=0, index__lt=leaves).order_by("index")
        for leaf in others[:FETCHED]:
            self._problem(
                f"Leaf {leaf.index}, of entry {leaf.entry_id}, is in no signed checkpoint."
            )
        return leaves

    def _window(self, start: int, leaves: int) -> tuple[int, list[Statement]]:
        """Where the window ends that begins at a leaf, and the checkpoints of that size."""
        stop = min(start + WINDOW, leaves)
        signed = checkpoints.stored(start, stop)[-1:]
        if outside := [each for each in self._outside if start < each.size <= stop]:
            signed = [each for each in signed if each.size <= outside[0].size]
            signed += [each for each in outside if each.size == outside[0].size]
        stop = min((each.size for each in signed), default=stop)
        return stop, [each for each in signed if each.size == stop]

    def _check_window(self, start: int, stop: int, signed: list[Statement]) -> None:
        rows = read_leaves(start, stop)
        self._check_times(rows)
        self._lateness.check(rows)
        if len(rows) != stop - start:
            for index in sorted(set(range(start, stop)) - {row.leaf for row in rows}):
                self._problem(f"Leaf {index:,} is missing, and which entry it was of is unknown.")
            self._tree = None
        sentences = diagnosis.of_entries(rows)
        if self._tree is not None:
            before, tree = self._tree, self._tree.copy()
            subtrees = [each for row in rows for each in tree.append(row.stored)]
            wrong = [each for each in signed if each.root != tree.root()]
            if wrong:
                self._tree, sentences = diagnosis.of_window(
                    before, rows, wrong[0], self._hints(start, stop)
                )
            else:
                self._tree = tree
                self._check_subtrees(start, stop, subtrees)
        for sentence in sentences:
            self._problem(sentence)

    def _check_subtrees(
        self, start: int, stop: int, computed: list[tuple[int, int, bytes]]
    ) -> None:
        """Compares the stored hashes of the subtrees that a window completes."""
        stored: dict[tuple[int, int], bytes] = {}
        for level in sorted({level for level, _, _ in computed}):
            bits = level * STORED_BITS
            within = Subtree.objects.filter(
                level=level, index__gte=start >> bits, index__lt=stop >> bits
            )
            for subtree in within:
                stored[level, subtree.index] = bytes(subtree.hash)
        for level, index, found in computed:
            if stored.get((level, index)) != found:
                first, count = index << level * STORED_BITS, 1 << level * STORED_BITS
                self._problem(
                    f"The stored hash of the leaves {first:,} to {first + count - 1:,} was "
                    "changed; that makes no entry wrong, but no proof can be made with it."
                )

    def _check_times(self, rows: list[LeafRow]) -> None:
        """Finds entries that say that they are much older than entries sealed before them."""
        for row in rows:
            time = row.created_at or self._latest
            if time >= self._latest:
                self._latest = time
            elif time < self._latest - BACKDATED:
                self._problem(
                    f"Entry {row.entry_id} was dated back: it says {time:%Y-%m-%dT%H:%M:%S.%fZ}, "
                    "and an entry that was sealed before it is more than a day younger."
                )

    def _check_entries_without_leaf(self, newest: Newest) -> None:
        self._progress.note("Looking for entries that were never sealed …")
        complete_to = newest.horizon.complete_to
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_mergejoin = on; SET LOCAL enable_hashjoin = on")
            cursor.execute(f"DECLARE without_leaf CURSOR FOR {_WITHOUT_LEAF}")
            while True:
                self._shutdown.check()
                cursor.execute(f"FETCH {FETCHED} FROM without_leaf")
                ids = [row[0] for row in cursor.fetchall()]
                if not ids:
                    return
                for entry_id in ids:
                    if entry_id > complete_to:
                        self.result.unsealed += 1
                    else:
                        self._problem(
                            f"Entry {entry_id} was added later, or lost its leaf: all entries up "
                            f"to {complete_to} were sealed."
                        )
