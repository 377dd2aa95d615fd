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
from config.api.errors import ApiError, DocumentNotFound, TooManyRequests
from config.api.parameters import REQUESTS_PER_MINUTE
from documents.models import Document
from events.webhooks.models import Attempt, Delivery, Endpoint

DAYS = 29
LIMITED = 9  # days ago, when the key was at its limit


@transaction.atomic
def invent(key: ApiKey) -> None:
    """Usage and downloads of a key of the demo, and deliveries to its workspace's endpoint."""
    chance = random.Random(1)  # noqa: S311 - no secret
    endpoint = Endpoint.objects.get(workspace=key.workspace)
    endpoint.created_at = datetime.now(UTC) - timedelta(days=DAYS + 1)
    endpoint.save()
    completed = list(Document.objects.filter(workspace=key.workspace, status="COMPLETED"))
    for ago in range(DAYS, 0, -1):
        moment = (datetime.now(UTC) - timedelta(days=ago)).replace(hour=8, minute=0)
        busy = chance.randrange(1, 4) if moment.weekday() > 4 else chance.randrange(6, 16)
        errors, limited = chance.randrange(busy), busy * 3 if ago == LIMITED else 0
        KeyUsage.objects.create(
            key_id=key.pk,
            day=moment.date(),
            workspace_id=key.workspace_id,
            ok=busy * 40,
            errors=errors,
            limited=limited,
            downloads=busy,
        )
        refuse(key, moment, DocumentNotFound(), errors, f"/api/v1/documents/{uuid.uuid4()}")
        refuse(key, moment, TooManyRequests(REQUESTS_PER_MINUTE, 20), limited, "/api/v1/documents")
        for document in chance.sample(completed, min(busy, len(completed))):
            moment += timedelta(seconds=chance.randrange(1, 600))
            deliver(endpoint, document, moment, chance)


def refuse(key: ApiKey, moment: datetime, error: ApiError, count: int, path: str) -> None:
    """Requests of the key with the same error in one minute."""
    if count:
        row = RefusedRequest(
            created_at=moment,
            request_id=uuid.uuid4().hex,
            status=error.status_code,
            response_text=error.text,
            cause=error.code,
            more=count - 1,
            address="192.0.2.7",
            method="GET",
            path=path,
        )
        if isinstance(error, DocumentNotFound):
            row.document_id = path.rpartition("/")[2]
        row.identify(key.snapshot())
        reasons.word([row])
        row.save()


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
