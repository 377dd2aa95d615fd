"""Deletes old deliveries with their attempts, and processes that have ended."""

from django.utils import timezone

from events.webhooks.models import Delivery, Process
from events.webhooks.policy import KEEP

BATCH = 1000  # deliveries that are deleted at once


def purge() -> bool:
    """Deletes a batch of what is older than it is kept.

    Returns:
        Whether there may be more.
    """
    before = timezone.now() - KEEP
    Process.objects.filter(seen_at__lt=before).delete()
    first = Delivery.objects.order_by("pk").values_list("pk", "created_at")[:BATCH]
    old = [pk for pk, created_at in first if created_at < before]
    Delivery.objects.filter(pk__in=old).delete()
    return len(old) == BATCH
