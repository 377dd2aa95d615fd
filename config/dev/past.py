"""Thirty days that the demo seems to have been used, so that each chart shows something.

The audit log has none of it: no entry can have another time than that of its writing.
"""

import random
from datetime import UTC, datetime, timedelta

from django.db import transaction

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from documents.models import Document
from events.webhooks.models import Attempt, Delivery, Endpoint

DAYS = 30
LIMITED = 9  # days ago, when the key was at its limit


@transaction.atomic
def invent(key: ApiKey) -> None:
    """Usage and downloads of a key of the demo, and deliveries to its workspace's endpoint."""
    chance = random.Random(1)  # noqa: S311 - no secret
    endpoint = Endpoint.objects.get(workspace=key.workspace)
    completed = list(Document.objects.filter(workspace=key.workspace, status="COMPLETED"))
    for ago in range(DAYS, 0, -1):
        moment = (datetime.now(UTC) - timedelta(days=ago)).replace(hour=8, minute=0)
        busy = chance.randrange(1, 4) if moment.weekday() > 4 else chance.randrange(6, 16)
        KeyUsage.objects.create(
            key_id=key.pk,
            day=moment.date(),
            workspace_id=key.workspace_id,
            ok=busy * 40,
            errors=chance.randrange(busy),
            limited=busy * 3 if ago == LIMITED else 0,
            downloads=busy,
        )
        for document in chance.sample(completed, min(busy, len(completed))):
            moment += timedelta(seconds=chance.randrange(1, 600))
            deliver(endpoint, document, moment, chance)


def deliver(
    endpoint: Endpoint, document: Document, moment: datetime, chance: random.Random
) -> None:
    """A delivery that has succeeded at its first or second attempt."""
    tries = [200] if chance.random() < 0.9 else [503, 200]
    delivery = Delivery.objects.create(
        endpoint=endpoint,
        event_id=f"{chance.getrandbits(128):032x}",
        type="document.completed",
        occurred_at=moment,
        document_id=document.pk,
        status=document.status,
        sequence=0,
        state="DELIVERED",
        attempts=len(tries),
        next_attempt_at=None,
        created_at=moment,
    )
    for number, status in enumerate(tries, 1):
        times = {"started_at": moment, "milliseconds": chance.randrange(20, 400)}
        Attempt.objects.create(delivery=delivery, number=number, status=status, **times)
