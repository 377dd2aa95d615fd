"""Deletes old events and deliveries.

The tables have no index on time: the ids are nearly in its order.
"""

from datetime import timedelta

from django.db.models import Model
from django.utils import timezone

from events.feed import KEPT, LEAST
from events.models import Event
from events.webhooks.models import Delivery
from events.webhooks.policy import KEEP

BATCH = 1000  # rows that are deleted at once
# A cursor after an event works for so long at most. A day more, since the events that follow may be
# a little older.
AGE = KEPT + LEAST + timedelta(days=1)


def purge() -> bool:
    """Deletes a batch of what is older than it is kept; returns whether there may be more."""
    return _delete_old(Event, "occurred_at", AGE) | _delete_old(Delivery, "created_at", KEEP)


def _delete_old(model: type[Model], time: str, age: timedelta) -> bool:
    """Deletes a batch of the rows whose `time` is longer ago; returns whether there may be more."""
    before = timezone.now() - age
    first = model._default_manager.order_by("pk").values_list("pk", time)[:BATCH]
    old = [pk for pk, at in first if at < before]
    model._default_manager.filter(pk__in=old).delete()
    return len(old) == BATCH
