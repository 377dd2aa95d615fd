"""Deletes old deliveries with their attempts, and processes that have ended."""

from django.utils import timezone

from events.purge import delete_old
from events.webhooks.models import Delivery, Process
from events.webhooks.policy import KEEP


def purge() -> bool:
    """Deletes a batch of what is older than it is kept; returns whether there may be more."""
    Process.objects.filter(seen_at__lt=timezone.now() - KEEP).delete()
    return delete_old(Delivery, "created_at", KEEP)
