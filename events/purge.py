"""Deletes old events. Their table has no index on time: the ids are nearly in its order."""

from datetime import timedelta

from django.utils import timezone

from events.feed import KEPT, LEAST
from events.models import Event

BATCH = 1000  # events that are deleted at once
# A cursor after an event works for so long at most. A day more, since the events that follow may be
# a little older.
AGE = KEPT + LEAST + timedelta(days=1)


def purge() -> bool:
    """Deletes a batch of the events that no cursor can have before it any more.

    Returns:
        Whether there may be more.
    """
    before = timezone.now() - AGE
    first = Event.objects.order_by("pk").values_list("pk", "occurred_at")[:BATCH]
    old = [pk for pk, occurred_at in first if occurred_at < before]
    Event.objects.filter(pk__in=old).delete()
    return len(old) == BATCH
