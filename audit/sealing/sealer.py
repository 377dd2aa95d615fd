"""Adds entries to the tree, and signs a checkpoint of it.

The leaves are in the order in which the entries became visible; those that became visible between
two seals are ordered by id. A transaction that commits late is no problem: its entries are found
whenever they become visible, because the sealer looks for entries without a leaf. A checkpoint
has the id up to which no more of them can appear (`audit.sealing.note.Horizon`), so the sealer only
looks at newer ones.
"""

from collections.abc import Sequence
from dataclasses import replace

from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction

from audit.models import Action, Checkpoint, Leaf, Subtree
from audit.record import record
from audit.sealing import checkpoints
from audit.sealing.checkpoints import Newest
from audit.sealing.keys import PrivateKey, PublicKey
from audit.sealing.leaves import COLUMNS, TRUSTED, hash_of, read_columns
from audit.sealing.note import Statement
from audit.sealing.tree import Frontier, StoredTree, TreeDamaged
from config.request.context import actor

SEAL_EVERY = 5.0  # seconds
BATCH = 10_000  # entries of one seal

# A transaction gets its number before an entry gets its id, so a transaction with an id up to
# max(id) is not newer than xmax.
_HORIZON = """
    SELECT pg_snapshot_xmin(seen)::text::bigint, pg_snapshot_xmax(seen)::text::bigint,
        (SELECT coalesce(max(id), 0) FROM public.audit_auditentry), clock_timestamp()
    FROM pg_current_snapshot() AS seen
"""
_UNSEALED = f"""
    SELECT id, {COLUMNS} FROM public.audit_auditentry AS entry
    WHERE id > %(complete_to)s AND NOT EXISTS (
        SELECT FROM public.audit_leaf
        WHERE entry_id = entry.id AND entry_id > %(complete_to)s AND index < %(size)s)
    ORDER BY id LIMIT %(batch)s
"""  # noqa: S608 - made of constants
# Along the indexes: any other plan reads all entries for each batch.
_PLAN = "SET LOCAL max_parallel_workers_per_gather = 0;" + "".join(
    f"SET LOCAL {name} = off;"
    for name in ("enable_bitmapscan", "enable_hashjoin", "enable_seqscan", "enable_sort")
)


class SealRefused(CommandError):
    """Sealing would sign a tree that contradicts an earlier checkpoint; the text says which."""


class Sealer:
    """Seals entries. Several sealers may run: leaves have unique indexes, so one of them succeeds.

    Args:
        key: signs the checkpoints.
        former: the public keys of the keys that signed before.
        signed: a checkpoint that is known to be signed, from a witness. The tree must contain it.
    """

    def __init__(
        self, key: PrivateKey, former: Sequence[PublicKey], signed: Statement | None
    ) -> None:
        self._key = key
        self._keys = [key.public, *former]
        self._signed = signed

    def seal(self) -> int:
        """Adds the entries that are visible and have no leaf, at most BATCH, and signs.

        Returns how many; 0 also if another sealer has added them meanwhile. Raises SealRefused if
        the tree is not the one that was signed.
        """
        newest = checkpoints.newest(self._keys)
        try:
            statement = self._seal(newest)
        except IntegrityError as exc:
            if checkpoints.newest(self._keys).size > newest.size:
                return 0
            raise SealRefused(
                "The tree has leaves or hashes that were not sealed, or a checkpoint that was not "
                "signed, where the next ones belong. Run `manage.py verify_audit`."
            ) from exc
        if statement is None:
            return 0
        self._signed = statement
        return statement.size - newest.size

    @transaction.atomic(durable=True)
    def _seal(self, newest: Newest) -> Statement | None:
        before = newest.horizon
        with connection.cursor() as cursor:
            cursor.execute(TRUSTED)
            frontier = self._signed_tree(newest)
            cursor.execute(_HORIZON)
            [(xmin, xmax, newest_id, now)] = cursor.fetchall()
        horizon = before.advanced(xmin, xmax, newest_id)
        limits = {"complete_to": before.complete_to, "size": frontier.size, "batch": BATCH}
        found = read_columns(_UNSEALED, limits, _PLAN)
        rows = [(entry_id, hash_of(columns)) for entry_id, *columns in found]
        if not rows:
            return None
        if len(rows) == BATCH:
            horizon = replace(horizon, complete_to=min(horizon.complete_to, rows[-1][0]))
        _append(frontier, rows)
        statement = Statement(self._key.name, frontier.size, frontier.root(), now, horizon)
        note = self._key.sign(statement.text())
        Checkpoint.objects.create(size=frontier.size, sealed_at=now, note=note)
        return statement

    def accept_loss(self) -> None:
        """Seals on although the database has lost entries that were sealed, and records that."""
        lost = self._signed
        what = f"{lost.size:,} entries, root {lost.root.hex()}" if lost else "no witness says what"
        record(Action.LOG_RESTORED, by=actor(), detail=f"sealed before: {what}")
        self._signed = None

    def _signed_tree(self, newest: Newest) -> Frontier:
        """The tree, which is the one that the newest signed checkpoint signs.

        Newer ones that are not signed are skipped: they say nothing, and if leaves belong to them,
        these are in the way of the next ones.
        """
        stored = StoredTree()
        size = newest.size
        if newest.unsigned and newest.statement is None:
            sizes = ", ".join(f"{each:,}" for each in newest.unsigned)
            raise SealRefused(
                f"There are checkpoints (of {sizes} entries), and no known key has signed the "
                "newest ones: AUDIT_PUBLIC_KEYS lacks a key, or somebody else wrote them. Run "
                "`manage.py verify_audit`."
            )
        if self._signed and self._signed.size > size:
            raise SealRefused(
                f"{self._signed.size:,} entries were sealed at {self._signed.sealed_at:%F %T} UTC, "
                f"and the database has {size:,}. Run `manage.py verify_audit`. If the database "
                "was restored from a backup, run `manage.py seal_audit --after-restore`."
            )
        try:
            frontier = stored.frontier(size)
            root = frontier.root()
            if newest.statement and newest.statement.root != root:
                raise TreeDamaged("it is not the one that was signed")
            if self._signed and stored.frontier(self._signed.size).root() != self._signed.root:
                raise TreeDamaged(f"its first {self._signed.size:,} leaves were others before")
        except TreeDamaged as exc:
            raise SealRefused(f"The tree is damaged: {exc}. Run `manage.py verify_audit`.") from exc
        return frontier


def _append(frontier: Frontier, rows: Sequence[tuple[int, bytes]]) -> None:
    leaves, subtrees = [], []
    for entry_id, leaf in rows:
        leaves.append(Leaf(index=frontier.size, entry_id=entry_id, hash=leaf))
        subtrees += frontier.append(leaf)
    Leaf.objects.bulk_create(leaves)
    Subtree.objects.bulk_create(
        Subtree(level=level, index=index, hash=found) for level, index, found in subtrees
    )
