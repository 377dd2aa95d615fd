"""Deletes what is too old or too much, some rows at a time."""

from django.db import connection
from django.utils import timezone

from apikeys.usage.models import (
    KEEP_REFUSED,
    KEEP_USAGE,
    REFUSED_KEPT,
    UNAUTHENTICATED_KEPT,
)

ROWS = 1000  # of each table, at a time

# What to delete, and how long it is kept. The last table is as small as its keys are few.
_OLD = {
    'DELETE FROM "usage_keyusage" WHERE (key_id, day) IN ('
    'SELECT key_id, day FROM "usage_keyusage" WHERE day < %s::date ORDER BY day LIMIT %s)': (
        KEEP_USAGE
    ),
    'DELETE FROM "usage_refusedrequest" WHERE id IN ('
    'SELECT id FROM "usage_refusedrequest" WHERE created_at < %s '
    "ORDER BY created_at LIMIT %s)": KEEP_REFUSED,
    'DELETE FROM "usage_keyaddress" WHERE (key_id, address) IN ('
    'SELECT key_id, address FROM "usage_keyaddress" WHERE last_seen < %s LIMIT %s)': KEEP_USAGE,
}


# What to delete beyond a number of rows, each in the order of an index. A flood without a valid key
# displaces no rows of valid keys.
_BEYOND = {
    'DELETE FROM "usage_refusedrequest" WHERE id IN ('  # noqa: S608 - made of constants
    f'SELECT id FROM "usage_refusedrequest" {rows} OFFSET %s LIMIT %s)': kept
    for rows, kept in {
        "WHERE key_id IS NULL ORDER BY key_id, created_at DESC, id DESC": UNAUTHENTICATED_KEPT,
        "WHERE key_id IS NOT NULL AND status = 401 "
        "ORDER BY created_at DESC, id DESC": UNAUTHENTICATED_KEPT,
        "ORDER BY created_at DESC, id DESC": REFUSED_KEPT,
    }.items()
}


def purge() -> bool:
    """Deletes at most `ROWS` rows of each table and rule; returns whether there may be more."""
    now = timezone.now()
    limits = {statement: now - keep for statement, keep in _OLD.items()} | _BEYOND
    more = False
    with connection.cursor() as cursor:
        for statement, limit in limits.items():
            cursor.execute(statement, [limit, ROWS])
            more |= cursor.rowcount == ROWS
    return more
