"""The queue of deliveries: which are due, who makes the attempts, and what became of them."""

import uuid

from django.db.models import QuerySet
from django.db.models.functions import Now

from events.webhooks.models import (
    TEST_DOCUMENT,
    TEST_EVENT,
    Delivery,
    DeliveryState,
    Endpoint,
)


def add_test_event(endpoint: Endpoint) -> Delivery:
    """Adds a delivery that is about no document, so that an admin sees what arrives."""
    return Delivery.objects.create(
        endpoint=endpoint,
        event_id=uuid.uuid4(),
        type=TEST_EVENT,
        occurred_at=Now(),
        document_id=TEST_DOCUMENT,
        status="COMPLETED",
        sequence=0,
    )


def send_again(deliveries: QuerySet[Delivery]) -> int:
    """Makes those that have failed or were delivered due now, with a whole schedule of attempts.

    The consumer gets the same webhook-id; the attempts are numbered on.

    Returns:
        How many there are.
    """
    ended = deliveries.exclude(state=DeliveryState.PENDING)
    return ended.update(
        state=DeliveryState.PENDING, next_attempt_at=Now(), claimed_until=None, failures=0
    )
