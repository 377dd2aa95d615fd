"""Whether the audit log is sealed and intact, for those who operate it and those who read it.

It is read in one statement of a few index lookups, however long the log is. Whether the log is
intact, only `verify_audit` finds out; its result is an entry.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from django.db import DEFAULT_DB_ALIAS, connections
from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper

from audit.models import Action, AuditEntry, Checkpoint
from audit.tree.leaves import DATA
from audit.tree.merkle import leaf_hash

LATE_SECONDS = 600  # an entry is usually sealed seconds after it was written

# A subquery instead of a join: the planner has no other plan for it than the index.
_UNSEALED_SECONDS = """
    SELECT extract(epoch FROM clock_timestamp() - created_at)::float8
    FROM audit_auditentry AS entry
    WHERE id > coalesce((SELECT complete_to FROM audit_checkpoint ORDER BY size DESC LIMIT 1), 0)
        AND (SELECT entry_id FROM audit_leaf WHERE entry_id = entry.id) IS NULL
    ORDER BY id LIMIT 1
"""


def _newest(action: Action) -> str:
    """SQL for the time of the newest entry of an action, by the index audit_action_newest."""
    return f"""
        SELECT created_at FROM audit_auditentry WHERE action = '{action.value}'
        ORDER BY created_at DESC, id DESC LIMIT 1
    """  # noqa: S608 - a constant


_STATE = f"""
    SELECT ({_UNSEALED_SECONDS}), (SELECT max(size) FROM audit_checkpoint),
        ({_newest(Action.LOG_VERIFIED)}), ({_newest(Action.LOG_DAMAGED)})
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class State:
    """The state of the log.

    Attributes:
        unsealed_seconds: the age of the oldest entry that is not sealed; None if all are.
        sealed: entries in the newest checkpoint.
        intact_at: when a verification last found the log intact; None if never.
        damaged_at: when one last found that it differs; None if never.
    """

    unsealed_seconds: float | None
    sealed: int
    intact_at: datetime | None
    damaged_at: datetime | None

    @property
    def late(self) -> bool:
        """Whether an entry waits for its seal for too long."""
        return (self.unsealed_seconds or 0.0) > LATE_SECONDS

    @property
    def damaged(self) -> bool:
        """Whether the newest verification found that the log differs."""
        return self.damaged_at is not None and self.damaged_at == self.verified_at

    @property
    def verified_at(self) -> datetime | None:
        """The time of the newest verification, whatever it found."""
        return max((at for at in (self.intact_at, self.damaged_at) if at), default=None)

    def warnings(self) -> list[str]:
        """What is wrong, and what to do about it."""
        found = []
        if self.damaged:
            found.append(
                f"The verification of {self.damaged_at:%Y-%m-%d %H:%M:%S} UTC found that the audit "
                "log is damaged. The operator of this service must find out which entries can "
                "still be relied on: `manage.py verify_audit` names those that cannot."
            )
        if self.late:
            found.append(
                "Audit entries have waited to be sealed for "
                f"{(self.unsealed_seconds or 0) // 60:,.0f} minutes; if somebody changed them, "
                "nothing would show it. The operator of this service must see that "
                "`manage.py seal_audit --follow` runs, and read its log."
            )
        return found


def read(connection: BaseDatabaseWrapper = default_connection) -> State:
    """Reads the state.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        [(unsealed_seconds, sealed, intact_at, damaged_at)] = cursor.fetchall()
    return State(unsealed_seconds, sealed or 0, intact_at, damaged_at)


def read_apart() -> State:
    """Reads the state over a connection of its own, for a thread that does nothing else.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as connection:
        return read(connection)


# An entry with the hash that was sealed, and the data that it has now.
_SEALED = f"""
    SELECT entry.id, leaf.index, leaf.hash, {DATA}
    FROM audit_leaf AS leaf JOIN audit_auditentry AS entry ON entry.id = leaf.entry_id
    WHERE leaf.entry_id = ANY(%s)
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class Seal:
    """The seal of an entry.

    Attributes:
        leaf: its index in the tree.
        intact: whether the entry still is what was sealed.
    """

    leaf: int
    intact: bool

    def checkpoint(self) -> Checkpoint | None:
        """The first checkpoint that contains it."""
        return Checkpoint.objects.filter(size__gt=self.leaf).order_by("size").first()


def seals_of(entries: Sequence[AuditEntry]) -> dict[int, Seal]:
    """The seals of those that are sealed, by their ids."""
    with default_connection.cursor() as cursor:
        cursor.execute(_SEALED, [[entry.pk for entry in entries]])
        return {
            id: Seal(leaf, leaf_hash(data.encode()) == bytes(stored))
            for id, leaf, stored, data in cursor.fetchall()
        }
