"""Deletes old deliveries with their attempts, and processes that have ended."""

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from events.webhooks.models import Process
from events.webhooks.policy import KEEP

BATCH = 1000  # deliveries that are deleted at once

# Attempts first: they refer to the deliveries.
_PURGE = """
    WITH old AS (
        SELECT id FROM (
            SELECT id, created_at FROM webhooks_delivery ORDER BY id LIMIT %(batch)s
        ) AS first WHERE created_at < %(before)s
    ), attempts AS (
        DELETE FROM webhooks_attempt WHERE delivery_id IN (SELECT id FROM old)
    )
    DELETE FROM webhooks_delivery WHERE id IN (SELECT id FROM old)
"""


def purge() -> bool:
    """Deletes a batch of what is older than it is kept.

    Returns:
        Whether there may be more.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_PURGE, {"batch": BATCH, "before": timezone.now() - KEEP})
        more: bool = cursor.rowcount == BATCH
        Process.objects.filter(seen_at__lt=Now() - KEEP).delete()
        return more
