"""Thirty days of invented use of the demo, so that each chart shows something.

The audit log has none of it, since each entry has the time at which it was written.
"""

import random
import uuid
from datetime import UTC, datetime, timedelta

from django.db import transaction

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from documents.models import Document
from events.webhooks.models import Attempt, Delivery, Endpoint

DAYS = 29


@transaction.atomic
def invent(key: ApiKey) -> None:
    """Usage of a key of the demo, and deliveries to its workspace's endpoint.

    There are no downloads, since each would have an entry.
    """
    chance = random.Random(1)  # noqa: S311 - no secret
    today = datetime.now(UTC).replace(hour=8, minute=0)
    endpoint = Endpoint.objects.get(workspace=key.workspace)
    key.created_at = endpoint.created_at = today - timedelta(days=DAYS + 1)
    key.last_used_at = today - timedelta(days=1)
    endpoint.save()
    key.save()
    completed = list(Document.objects.filter(workspace=key.workspace, status="COMPLETED"))
    for ago in range(DAYS, 0, -1):
        morning, busy = today - timedelta(days=ago), chance.randrange(3, 16)
        counts = {"ok": busy * 40, "errors": 0, "limited": 0, "downloads": 0}
        whose = {"key_id": key.pk, "workspace_id": key.workspace_id}
        KeyUsage.objects.create(day=morning, **whose, **counts)
        for document in chance.sample(completed, busy):
            deliver(endpoint, document, morning + timedelta(seconds=chance.randrange(36_000)))


def deliver(endpoint: Endpoint, document: Document, moment: datetime) -> None:
    event = {"event_id": uuid.uuid4(), "type": "document.completed", "occurred_at": moment}
    event |= {"document_id": document.pk, "status": document.status, "sequence": 0}
    done = {"state": "DELIVERED", "attempts": 1, "next_attempt_at": None, "created_at": moment}
    delivery = Delivery.objects.create(endpoint=endpoint, **event, **done)
    times = {"started_at": moment, "milliseconds": 20 + moment.second * 6}
    Attempt.objects.create(delivery=delivery, number=1, status=200, **times)
