"""Thirty days that the demo seems to have been used, so that each chart shows something.

The audit log has none of it: no entry can have another time than that of its writing.
"""

import random
import uuid
from datetime import UTC, datetime, timedelta

from django.db import transaction

from apikeys.models import ApiKey
from apikeys.usage import reasons
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.api.errors import DocumentNotFound
from documents.models import Document
from events.webhooks.models import Attempt, Delivery, Endpoint

DAYS = 29


@transaction.atomic
def invent(key: ApiKey) -> None:
    """Usage and downloads of a key of the demo, and deliveries to its workspace's endpoint."""
    chance = random.Random(1)  # noqa: S311 - no secret
    endpoint = Endpoint.objects.get(workspace=key.workspace)
    endpoint.created_at = datetime.now(UTC) - timedelta(days=DAYS + 1)
    endpoint.save()
    completed = list(Document.objects.filter(workspace=key.workspace, status="COMPLETED"))
    for ago in range(DAYS, 0, -1):
        morning = (datetime.now(UTC) - timedelta(days=ago)).replace(hour=8, minute=0)
        busy, whose = chance.randrange(3, 16), {"key_id": key.pk, "workspace_id": key.workspace_id}
        counts = {"ok": busy * 40, "errors": busy // 2, "limited": 0, "downloads": busy}
        KeyUsage.objects.create(day=morning, **whose, **counts)
        refuse(key, morning, busy // 2)
        for document in chance.sample(completed, busy):
            deliver(endpoint, document, morning + timedelta(seconds=chance.randrange(36_000)))


def refuse(key: ApiKey, moment: datetime, count: int) -> None:
    """Requests for the same unknown document in one minute."""
    id = uuid.uuid4()
    row = RefusedRequest(
        created_at=moment,
        request_id=uuid.uuid4().hex,
        status=DocumentNotFound.status_code,
        response_text=DocumentNotFound.text,
        cause=DocumentNotFound.code,
        more=count - 1,
        document_id=id,
        method="GET",
        path=f"/api/v1/documents/{id}",
    )
    row.identify(key.snapshot())
    reasons.word([row])
    row.save()


def deliver(endpoint: Endpoint, document: Document, moment: datetime) -> None:
    """A delivery that has succeeded at its first attempt, or some at their second."""
    statuses = [200] if moment.minute % 10 else [503, 200]
    delivery = Delivery.objects.create(
        endpoint=endpoint,
        event_id=uuid.uuid4(),
        type="document.completed",
        occurred_at=moment,
        document_id=document.pk,
        status=document.status,
        sequence=0,
        state="DELIVERED",
        attempts=len(statuses),
        next_attempt_at=None,
        created_at=moment,
    )
    for number, status in enumerate(statuses, 1):
        times = {"started_at": moment, "milliseconds": 20 + moment.second * 6}
        Attempt.objects.create(delivery=delivery, number=number, status=status, **times)
