from datetime import timedelta

from django.db.models import Model
from django.utils import timezone

from events.feed import KEPT, LEAST
from events.models import Event
from events.webhooks.models import Delivery
from events.webhooks.policy import KEEP

BATCH = 1000  # rows that are deleted at once
# A cursor after an event works at most that long, and events that follow may be a little older.
AGE = KEPT + LEAST + timedelta(days=1)


def purge() -> bool:
    """Deletes a batch of each; returns whether there may be more."""
    more = [_delete_old(Event, "occurred_at", AGE), _delete_old(Delivery, "created_at", KEEP)]
    return any(more)


def _delete_old(model: type[Model], time: str, age: timedelta) -> bool:
    # There is no index on time: the ids are nearly in its order.
    before = timezone.now() - age
    first = model._default_manager.order_by("pk").values_list("pk", time)[:BATCH]
    old = [pk for pk, at in first if at < before]
    model._default_manager.filter(pk__in=old).delete()
    return len(old) == BATCH
