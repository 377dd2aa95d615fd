"""Adds entries to the tree, and signs a checkpoint of it.

The leaves are in the order in which the entries became visible; those that became visible between
two seals are ordered by id. A transaction that commits late is no problem: its entries are found
whenever they become visible, since an entry is only ever looked for by "it has no leaf". So that
not all entries have to be looked at each time, a checkpoint remembers up to which id there can be
no more (`audit.models.Checkpoint`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, connection, transaction

from audit import record
from audit.models import Checkpoint, Leaf, Subtree
from audit.tree.leaves import DATA
from audit.tree.merkle import Frontier, leaf_hash
from audit.tree.note import NoteError, PrivateKey, PublicKey, Statement
from audit.tree.stored import StoredTree, TreeDamaged
from config.database import current
from config.request_context import actor

BATCH = 10_000  # entries of one seal
LOCK = 0x7365616C  # an arbitrary number, unique among our advisory locks

# A transaction gets its number before an entry gets its id, so a transaction with an id up to
# max(id) is not newer than xmax.
_HORIZON = """
    SELECT pg_snapshot_xmin(seen)::text::bigint, pg_snapshot_xmax(seen)::text::bigint,
        (SELECT coalesce(max(id), 0) FROM audit_auditentry), clock_timestamp()
    FROM pg_current_snapshot() AS seen
"""
_UNSEALED = f"""
    SELECT id, {DATA} FROM audit_auditentry AS entry
    WHERE id > %(complete_to)s AND NOT EXISTS (
        SELECT FROM audit_leaf
        WHERE entry_id = entry.id AND entry_id > %(complete_to)s AND index < %(size)s)
    ORDER BY id LIMIT %(batch)s
"""  # noqa: S608 - made of constants
# Along the indexes: any other plan reads all entries for each batch.
_PLAN = "SET LOCAL max_parallel_workers_per_gather = 0;" + "".join(
    f"SET LOCAL {name} = off;"
    for name in ("enable_bitmapscan", "enable_hashjoin", "enable_seqscan", "enable_sort")
)


class SealRefused(Exception):
    """Sealing would sign a tree that contradicts an earlier checkpoint; the text says which."""


@dataclass(frozen=True)
class Horizon:
    """Up to which id all entries are visible; see `audit.models.Checkpoint`."""

    complete_to: int = 0
    next_complete_to: int = 0
    next_transaction: int = 0

    def advanced(self, xmin: int, xmax: int, newest_id: int) -> "Horizon":
        """The horizon of a snapshot: no transaction before `xmin` runs any more."""
        if xmin < self.next_transaction:
            return self
        return Horizon(self.next_complete_to, newest_id, xmax)


class Sealer:
    """Seals entries; several sealers may run, one seals at a time.

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

    @transaction.atomic(durable=True)
    def seal(self) -> int:
        """Adds the entries that are visible and have no leaf, at most BATCH, and signs.

        Returns:
            How many; 0 also if another sealer is adding them.

        Raises:
            SealRefused: the tree is not the one that was signed.
            django.db.Error: the database is out of reach.
        """
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
            if cursor.fetchone() != (True,):
                return 0
            newest = Checkpoint.objects.order_by("-size").first()
            frontier = self._signed_tree(newest)
            before = horizon_of(newest)
            cursor.execute(_HORIZON)
            [(xmin, xmax, newest_id, now)] = cursor.fetchall()
            horizon = before.advanced(xmin, xmax, newest_id)
            cursor.execute(_PLAN)
            limits = {"complete_to": before.complete_to, "size": frontier.size, "batch": BATCH}
            cursor.execute(_UNSEALED, limits)
            rows = cursor.fetchall()
            if not rows:
                return 0
            try:
                _append(frontier, rows)
            except IntegrityError as exc:
                raise SealRefused(
                    "The tree has leaves that were not sealed. Run `manage.py verify_audit`."
                ) from exc
        complete_to = horizon.complete_to
        if len(rows) == BATCH:
            complete_to = min(complete_to, rows[-1][0])
        statement = Statement(self._key.name, frontier.size, frontier.root(), now)
        Checkpoint.objects.create(
            size=frontier.size,
            sealed_at=now,
            note=self._key.sign(statement.text()),
            complete_to=complete_to,
            next_complete_to=horizon.next_complete_to,
            next_transaction=horizon.next_transaction,
        )
        transaction.on_commit(lambda: self._remember(statement))
        return len(rows)

    def accept_loss(self) -> None:
        """Seals on although the database has lost entries that were sealed, and records that."""
        lost = self._signed
        if lost is not None:
            record.log_restored(
                person=actor(),
                detail=f"sealed before: {lost.size:,} entries, root {lost.root.hex()}",
            )
        self._signed = None

    def _remember(self, statement: Statement) -> None:
        self._signed = statement

    def _signed_tree(self, newest: Checkpoint | None) -> Frontier:
        """The tree, which is the one that the newest checkpoint signs."""
        stored = StoredTree()
        size = newest.size if newest else 0
        if self._signed and self._signed.size > size:
            raise SealRefused(
                f"{self._signed.size:,} entries were sealed at {self._signed.sealed_at:%F %T} UTC, "
                f"and the database has {size:,}. Run `manage.py verify_audit`. If the database "
                "was restored from a backup, run `manage.py seal_audit --after-restore`."
            )
        try:
            frontier = stored.frontier(size)
            root = frontier.root()
            if newest:
                signed = Statement.opened(newest.note, self._keys)
                if (signed.size, signed.root) != (size, root):
                    raise TreeDamaged("it is not the one that was signed")
            if self._signed and stored.root(self._signed.size) != self._signed.root:
                raise TreeDamaged(f"its first {self._signed.size:,} leaves were others before")
        except (NoteError, TreeDamaged) as exc:
            raise SealRefused(f"The tree is damaged: {exc}. Run `manage.py verify_audit`.") from exc
        return frontier


def horizon_of(newest: Checkpoint | None) -> Horizon:
    """The horizon that the newest checkpoint remembers."""
    if newest is None:
        return Horizon()
    return Horizon(newest.complete_to, newest.next_complete_to, newest.next_transaction)


def _append(frontier: Frontier, rows: Sequence[tuple[int, str]]) -> None:
    """Adds leaves, and the subtrees that they complete."""
    subtrees = []
    copying = f"COPY {Leaf._meta.db_table} (index, entry_id, hash) FROM STDIN"
    with (
        current().guard(),
        connection.wrap_database_errors,
        connection.cursor() as cursor,
        cursor.copy(copying) as copy,
    ):
        for entry_id, data in rows:
            found = leaf_hash(data.encode())
            copy.write_row((frontier.size, entry_id, found))
            subtrees += frontier.append(found)
    Subtree.objects.bulk_create(
        Subtree(level=level, index=index, hash=found) for level, index, found in subtrees
    )
