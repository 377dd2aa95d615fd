"""Thirty days that the demo seems to have been used, so that each chart shows something."""

import itertools
import random
from datetime import UTC, datetime, timedelta

import psycopg
from django.conf import settings
from django.db import transaction

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from audit.models import Action
from documents.models import Document
from events.webhooks.models import Attempt, Delivery, Endpoint

DAYS = 30
# The trigger would set the id and the time. Only the owner may do without it.
_ENTRY = """
    INSERT INTO audit_auditentry (id, created_at, action, workspace_id, workspace_name, person,
        member, detail, key_id, key_name, key_prefix, document_id, document_title, file_type,
        file_sha256, byte_range, request_id, address, user_agent)
    VALUES (%s, %s, %s, %s, %s, '', '', '', %s, %s, %s, %s, %s,
        'signed', %s, '', %s, '192.0.2.20', 'records-sync/2.4')
"""


RESERVED = 1000  # ids


def reserve() -> int:
    """The first of RESERVED ids of entries that are older than those which follow."""
    with psycopg.connect(settings.DATABASE_OWNER_URL) as owner:
        sequence = "audit_auditentry_id_seq"
        first = owner.execute("SELECT nextval(%s)", [sequence]).fetchone()
        assert first is not None  # noqa: S101 - a row
        owner.execute("SELECT setval(%s, %s)", [sequence, first[0] + RESERVED])
    return int(first[0])


@transaction.atomic
def invent(key: ApiKey, first: int) -> None:
    """Usage and downloads of a key of the demo, and deliveries to its workspace's endpoint.

    Args:
        first: from `reserve`.
    """
    ids = itertools.count(first)
    endpoint = Endpoint.objects.get(workspace=key.workspace)
    chance = random.Random(1)  # noqa: S311 - no secret
    now = datetime.now(UTC)
    completed = list(Document.objects.filter(workspace=key.workspace, status="COMPLETED")[:40])
    with psycopg.connect(settings.DATABASE_OWNER_URL) as owner:
        owner.execute("ALTER TABLE audit_auditentry DISABLE TRIGGER audit_stamp")
        for ago in range(DAYS, 0, -1):
            morning = (now - timedelta(days=ago)).replace(hour=8, minute=0)
            moment = morning + timedelta(minutes=chance.randrange(300))
            busy = chance.randrange(1, 4) if moment.weekday() > 4 else chance.randrange(6, 16)
            usage = {"ok": busy * 40, "errors": chance.randrange(busy), "limited": 0}
            usage |= {"downloads": busy, "limited": busy * 3 if ago == 9 else 0}
            day = {"key_id": key.pk, "day": moment.date(), "workspace_id": key.workspace_id}
            KeyUsage.objects.create(**day, **usage)
            for document in chance.sample(completed, min(busy, len(completed))):
                moment += timedelta(seconds=chance.randrange(1, 600))
                assert document.signed  # noqa: S101 - the database says so of a complete one
                facts = (
                    next(ids),
                    moment,
                    Action.DOCUMENT_DOWNLOADED,
                    key.workspace_id,
                    key.workspace.name,
                )
                facts += (key.pk, key.name, key.prefix, document.pk, document.title)
                request_id = f"{chance.getrandbits(128):032x}"
                owner.execute(_ENTRY, (*facts, document.signed.sha256, request_id))
                deliver(endpoint, document, moment, chance)
        owner.execute("ALTER TABLE audit_auditentry ENABLE TRIGGER audit_stamp")


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
