"""The data of a leaf: an entry as canonical JSON (RFC 8785), written by the database.

The members are the columns in alphabetical order, without those that are empty: so a column that
a later release adds does not change the data of older entries. Times have microseconds and a Z.
Anybody can write the same bytes again from a readable copy of the entry.
"""

from datetime import datetime
from typing import NamedTuple

from django.db import connection, models

from audit.models import AuditEntry

_TIME = """to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def _member(field: "models.Field[object, object]", first: bool) -> str:
    """SQL for one member; NULL if it is empty."""
    column = f"entry.{field.column}"
    name = f"""'{"{" if first else ","}"{field.column}":"""
    match field:
        case models.DateTimeField():
            return f"""{name}"' || {_TIME.format(column=column)} || '"'"""
        case models.UUIDField():
            return f"""{name}"' || {column} || '"'"""
        case models.CharField():
            return f"{name}' || to_json(nullif({column}, ''))"
        case models.BigIntegerField() | models.AutoField():
            return f"{name}' || {column}"
    raise TypeError(f"no canonical form of {field}")


def _data() -> str:
    fields = sorted(AuditEntry._meta.concrete_fields, key=lambda field: str(field.column))
    members = [_member(field, first=not number) for number, field in enumerate(fields)]
    return f"concat({', '.join(members)}, '}}')"


# SQL for the data of the leaf of `audit_auditentry AS entry`; the first column is never empty.
DATA = _data()
# … and for its hash, `audit.sealing.tree.leaf_hash`.
HASH = f"sha256(decode('00', 'hex') || convert_to({DATA}, 'UTF8'))"

_LEAVES = f"""
    SELECT leaf.index, leaf.entry_id, leaf.hash,
        CASE WHEN entry.id IS NOT NULL THEN {HASH} END,
        CASE WHEN entry.created_at BETWEEN '0002-01-01' AND '9998-12-31' THEN entry.created_at END
    FROM audit_leaf AS leaf LEFT JOIN audit_auditentry AS entry ON entry.id = leaf.entry_id
    WHERE leaf.index >= %s AND leaf.index < %s ORDER BY leaf.index
"""  # noqa: S608 - made of constants


class LeafRow(NamedTuple):
    """A leaf and its entry.

    Attributes:
        leaf: its index, from 0.
        stored: the hash that was stored when it was sealed.
        computed: the hash of the entry as it is now; None if the entry is missing.
        created_at: the entry's time as it says; None if the entry is missing, or its time is none
            that Python has.
    """

    leaf: int
    entry_id: int
    stored: bytes
    computed: bytes | None
    created_at: datetime | None


def read_leaves(start: int, stop: int) -> list[LeafRow]:
    """The leaves from `start` up to but not including `stop`, within a transaction.

    The planner would sort the whole table for some windows.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;"
            "SET LOCAL max_parallel_workers_per_gather = 0"
        )
        cursor.execute(_LEAVES, [start, stop])
        return [LeafRow(*row) for row in cursor.fetchall()]
