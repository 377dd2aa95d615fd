"""Deletes old events. Their table has no index on time: the ids are nearly in its order."""

from django.db import connection

from events.feed import LEAST
from events.models import KEEP_DAYS

BATCH = 1000  # events that are deleted at once
# A cursor after an event works for so long at most. A day more, since the events that follow may be
# a little older.
DELETED_DAYS = KEEP_DAYS + LEAST.days + 1

_PURGE = f"""
    DELETE FROM events_event WHERE id IN (
        SELECT id FROM (
            SELECT id, occurred_at FROM events_event ORDER BY id LIMIT {BATCH}
        ) AS first WHERE occurred_at < now() - interval '{DELETED_DAYS} days')
"""  # noqa: S608 - made of constants


def purge() -> bool:
    """Deletes a batch of the events that no cursor can have before it any more.

    Returns:
        Whether there may be more.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PURGE)
        return bool(cursor.rowcount == BATCH)
