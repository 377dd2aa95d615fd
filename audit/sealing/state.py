"""Whether the audit log is sealed and intact.

Two statements of a few index lookups read it, however long the log is. The newest checkpoint that a
known key has signed says what is sealed. Only `verify_audit` finds out whether the log is intact;
its result is an entry.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from audit.models import Action, AuditEntry
from audit.sealing import checkpoints, keys
from audit.sealing.checkpoints import Newest
from audit.sealing.leaves import NAMES, TRUSTED, hash_of

EVER, NEVER = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
LATE_SECONDS = 600  # an entry is usually sealed seconds after it was written
PROCESS = "seal_audit"  # what PostgreSQL calls the connection of a process that seals on and on
BEGAN = "Seals with"  # the detail of the entry that it adds first


def _oldest_unsealed(condition: str, order: str) -> str:
    """SQL for the time of the oldest entry without a leaf, in the order of an index.

    A subquery instead of a join: the planner has no other plan for it than the index.
    """
    return f"""
        SELECT created_at FROM public.audit_auditentry AS entry WHERE {condition}
            AND (SELECT entry_id FROM public.audit_leaf WHERE entry_id = entry.id) IS NULL
        ORDER BY {order} LIMIT 1
    """  # noqa: S608 - made of constants


# By id, those that commit late are found too; by time, along the index audit_newest, also those
# whose ids somebody set back.
_STATE = f"""{TRUSTED}
    SELECT extract(epoch FROM clock_timestamp() - least(
            ({_oldest_unsealed("id > %(complete_to)s", "id")}),
            ({_oldest_unsealed("created_at > %(sealed_at)s", "created_at, id")})))::float8,
        (SELECT created_at FROM public.audit_auditentry
            WHERE action OPERATOR(pg_catalog.=) '{Action.LOG_DAMAGED.value}'
            ORDER BY created_at DESC, id DESC LIMIT 1)
"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class State:
    """The state of the log.

    Attributes:
        unsealed_seconds: the age of the oldest entry that is not sealed; 0 if all are, infinite if
            no signature can be checked.
        damaged_at: when a verification last found that the log differs; None if never.
        foreign: a sentence about rows of the tree that the sealer has not written; "" if none.
        unverified: why no signature could be checked; a sentence.
    """

    unsealed_seconds: float = 0.0
    damaged_at: datetime | None = None
    foreign: str = ""
    unverified: str = ""


def read() -> State:
    """Reads the state; if the log is not sealed, there is nothing to say of it."""
    if not keys.set_up():
        return State()
    try:
        known = keys.public_keys()
    except ImproperlyConfigured as exc:
        return State(inf, unverified=str(exc))
    signed = checkpoints.newest(known)
    with connection.cursor() as cursor:
        # A checkpoint's time is in whole seconds, and a little before its entries were read.
        sealed_at = signed.statement.sealed_at + timedelta(seconds=1) if signed.statement else EVER
        complete_to = signed.horizon.complete_to
        unknown = signed.statement is None and signed.leaves > 0
        if unknown:  # all entries would have to be looked at
            sealed_at, complete_to = NEVER, 2**63 - 1
        cursor.execute(_STATE, {"sealed_at": sealed_at, "complete_to": complete_to})
        cursor.nextset()
        [(seconds, damaged_at)] = cursor.fetchall()
    return State(inf if unknown else seconds or 0.0, damaged_at, _foreign(signed))


def _foreign(signed: Newest) -> str:
    """A sentence about rows that the sealer has not written; "" if there are none."""
    if signed.unsigned:
        sizes = ", ".join(f"{each:,}" for each in signed.unsigned)
        return f"There are checkpoints that no known key has signed, of {sizes} entries."
    if signed.leaves > signed.size:
        return "The tree has leaves that no signed checkpoint has."
    if signed.leaves < signed.size:
        return "The tree has lost leaves that the newest signed checkpoint has."
    return ""


_LEAF = f"{TRUSTED} SELECT index, hash FROM public.audit_leaf WHERE entry_id = %s"  # noqa: S608 - made of constants


def leaf_of(entry: AuditEntry) -> tuple[int | None, bool]:
    """Its leaf, None if it is not sealed, and whether what was read of it still matches that."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAF, [entry.pk])
        cursor.nextset()
        found = cursor.fetchone()
    if found is None:
        return None, True
    leaf, stored = found
    return leaf, bytes(stored) == hash_of(getattr(entry, name) for name in NAMES)
