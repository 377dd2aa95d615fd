"""Endpoints and deliveries for tests."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from standardwebhooks import Webhook

from config.api.responses import as_json
from events.models import public_id
from events.serializers import event_of
from events.webhooks import services
from events.webhooks.models import Attempt, Delivery, Endpoint
from events.webhooks.monitoring import PROCESS
from tests.support.factories import Tenant, uid

URL = "https://hooks.example.com/letmein?token=letmein"  # only its host is for everybody
PUBLIC_URL = "https://hooks.example.com/…"


def endpoint(tenant: Tenant, url: str = URL) -> Endpoint:
    """An endpoint of the workspace for completed documents, made by its admin."""
    types = ["document.completed"]
    return services.create(workspace=tenant.workspace, url=url, types=types, by=tenant.admin)[0]


def delivery(endpoint: Endpoint, *attempts: dict[str, Any], **fields: Any) -> Delivery:
    """A delivery, pending by default, and its attempts, each at the time that it has or now."""
    made = Delivery.objects.create(
        endpoint=endpoint,
        **{
            "workspace_id": endpoint.workspace_id,
            "event_id": uuid.uuid4(),
            "type": "document.completed",
            "occurred_at": timezone.now(),
            "document_id": uuid.uuid4(),
            "status": "COMPLETED",
            "sequence": 1,
            "attempts": len(attempts),
            "failures": sum(attempt.get("status") != 200 for attempt in attempts),
            **fields,
        },
    )
    for number, attempt in enumerate(attempts, 1):
        facts = {"started_at": timezone.now(), "milliseconds": 31, **attempt}
        Attempt.objects.create(delivery=made, number=number, **facts)
    return made


def delivered(endpoint: Endpoint, **fields: Any) -> Delivery:
    attempt = {"status": 200, "response": "ok"}
    return delivery(endpoint, attempt, state="DELIVERED", next_attempt_at=None, **fields)


def failed(endpoint: Endpoint, **fields: Any) -> Delivery:
    attempt = {"status": 500, "response": "<b>Oops</b>"}
    return delivery(endpoint, attempt, state="FAILED", next_attempt_at=None, **fields)


@contextmanager
def delivering(name: str = PROCESS) -> Iterator[None]:
    """Meanwhile, there is a connection of a process that delivers, or of one with another name."""
    with closing(connection.copy()) as process, process.cursor() as cursor:
        cursor.execute(f"SET application_name = '{name}'")
        with connection.cursor() as own:
            own.execute("SELECT pg_stat_clear_snapshot()")  # PostgreSQL keeps one per transaction
        yield


SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signed(
    document: uuid.UUID | str,
    type: str = "document.completed",
    number: int = 1,
    secret: str = SECRET,
    after: timedelta = timedelta(0),
) -> tuple[bytes, dict[str, str]]:
    """A webhook's body and headers, as the service sends them.

    Args:
        number: of the event; each has an id of its own.
        after: from now to the time of the signature.
    """
    at, id = datetime.now(UTC) + after, public_id(uid(number))
    event = {"event_id": uid(number), "type": type, "occurred_at": at, "status": "COMPLETED"}
    body = as_json(event_of(Delivery(**event, document_id=document)))
    headers = {
        "webhook-id": id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, at, body.decode()),
    }
    return body, headers


def backlog(each: int) -> None:
    """So many deliveries wait for each endpoint."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            "INSERT INTO webhooks_delivery (endpoint_id, workspace_id, event_id, type, occurred_at,"
            " document_id, status, sequence, state, attempts)"
            " SELECT id, workspace_id, gen_random_uuid(), 'document.sent', now(),"
            " gen_random_uuid(), 'SENT',"
            " number, 'PENDING', 0 FROM webhooks_endpoint, generate_series(1, %s) AS number",
            [each],
        )
