"""The data of a leaf: an entry as canonical JSON (RFC 8785).

The members are the columns in alphabetical order. Empty columns are left out, so a column of a
later release does not change the data of older entries. Times have microseconds and a Z. Anybody
can write the same bytes again from a readable copy of the entry.

The database only returns columns. It does not write or hash the data, because its owner can define
functions, operators and casts that PostgreSQL would use instead of its own.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from django.db import connection
from psycopg import Cursor
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from audit.models import AuditEntry
from audit.sealing.tree import leaf_hash

# Before a statement about the log, in the same transaction. Whatever the database or the role has
# been set to, names are PostgreSQL's own first. The statements compare whole numbers and times of
# the same type only: there, no operator of `public` fits better.
TRUSTED = "SET LOCAL search_path = pg_catalog, public, pg_temp;"

NAMES = sorted(field.attname for field in AuditEntry._meta.concrete_fields)
COLUMNS = ", ".join(f"entry.{name}" for name in NAMES)  # of `audit_auditentry AS entry`
_CREATED_AT, _ID = NAMES.index("created_at"), NAMES.index("id")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # PostgreSQL's
_LEAVES = f"""
    SELECT leaf.index, leaf.entry_id, leaf.hash, {COLUMNS} FROM public.audit_leaf AS leaf
    LEFT JOIN public.audit_auditentry AS entry ON entry.id = leaf.entry_id
    WHERE leaf.index >= %s AND leaf.index < %s ORDER BY leaf.index
"""  # noqa: S608 - made of constants


class _Moment(Loader):
    """A time, whatever DateStyle and TimeZone are; None if Python has no such time."""

    format = Format.BINARY

    def load(self, data: Buffer) -> datetime | None:
        try:
            return _EPOCH + timedelta(microseconds=int.from_bytes(data, signed=True))
        except OverflowError:
            return None


def data_of(columns: Iterable[object]) -> bytes:
    """The data of an entry; the columns are the values of `NAMES`."""
    pairs = zip(NAMES, columns, strict=True)
    members = {name: value for name, value in pairs if value is not None and value != ""}
    if isinstance(time := members.get("created_at"), datetime):
        utc = time.astimezone(UTC).replace(tzinfo=None)
        members["created_at"] = f"{utc.isoformat(timespec='microseconds')}Z"
    return msgspec.json.encode(members, enc_hook=str)


def hash_of(columns: Iterable[object]) -> bytes:
    return leaf_hash(data_of(columns))


class LeafRow(NamedTuple):
    """A leaf and its entry.

    Attributes:
        leaf: its index, from 0.
        stored: the hash that was stored when it was sealed.
        computed: the hash of the entry as it is now; None if the entry is missing.
        created_at: the entry's time; None if the entry is missing, or Python has no such time.
    """

    leaf: int
    entry_id: int
    stored: bytes
    computed: bytes | None
    created_at: datetime | None


def read_columns(sql: str, parameters: Any, settings: str = "") -> list[Any]:
    """Runs a statement that selects `COLUMNS`, within a transaction that has these settings."""
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.adapters.register_loader("timestamptz", _Moment)
        planned = f"{TRUSTED} SET LOCAL plan_cache_mode = force_custom_plan; {settings}"
        cursor.execute(planned, prepare=False)
        cursor.execute(sql, parameters, prepare=False, binary=True)
        return cursor.fetchall()


def read_leaves(start: int, stop: int) -> list[LeafRow]:
    """The leaves from `start` up to but not including `stop`, within a transaction.

    The planner would sort the whole table for some windows.
    """
    settings = (
        "SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;"
        "SET LOCAL max_parallel_workers_per_gather = 0"
    )
    return [
        LeafRow(
            leaf,
            entry_id,
            stored,
            None if columns[_ID] is None else hash_of(columns),
            columns[_CREATED_AT],
        )
        for leaf, entry_id, stored, *columns in read_columns(_LEAVES, [start, stop], settings)
    ]
