"""Deletes what is too old, some rows at a time."""

from django.db import connection
from django.utils import timezone

from apikeys.usage.models import KEEP_REFUSED, KEEP_USAGE

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
    'DELETE FROM "usage_flushedbatch" WHERE (process, kind) IN ('
    'SELECT process, kind FROM "usage_flushedbatch" WHERE at < %s LIMIT %s)': KEEP_REFUSED,
}


def purge() -> bool:
    """Deletes at most `ROWS` old rows of each table; returns whether there may be more."""
    now = timezone.now()
    more = False
    with connection.cursor() as cursor:
        for statement, keep in _OLD.items():
            cursor.execute(statement, [now - keep, ROWS])
            more |= cursor.rowcount == ROWS
    return more
