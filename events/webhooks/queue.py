"""The queue of deliveries: which are due, who makes the attempts, and what became of them."""

import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from events.webhooks import statements
from events.webhooks.models import (
    FAILING,
    PENDING,
    TEST_DOCUMENT,
    TEST_EVENT,
    Delivery,
    DeliveryState,
    Endpoint,
)

# Seconds before each attempt, from the end of the one before: 5 s, 5 min, 30 min, 2 h, 5 h, …
DELAYS = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
JITTER = 0.1  # a delay is up to this share longer or shorter
MOST_RETRY_AFTER = 3600  # seconds: a Retry-After asks for this much at most
FAILING_DAYS = 5  # without any success, until an endpoint is switched off


class Claim(NamedTuple):
    """A delivery of which this process makes the next attempt, with what that needs.

    Attributes:
        claim: tells it apart from another process's claim, once this one has ended.
        failures: so many attempts of the present schedule have failed.
        previous_secret: encrypted, as `secret`; "" if it does not sign any more.
        troubled: the endpoint fails or is slow.
    """

    id: int
    claim: UUID
    failures: int
    event_id: UUID
    type: str
    occurred_at: datetime
    document_id: str
    status: str
    endpoint_id: UUID
    url: str
    secret: str
    previous_secret: str
    troubled: bool


@dataclass(frozen=True)
class Result:
    """How an attempt ended.

    Attributes:
        status: of the response; None without one.
        response: its beginning.
        error: why there is no complete response, a sentence; "" if there is.
        retry_after: seconds that the response asks for; 0 if it does not.
    """

    claim: Claim
    started_at: datetime
    milliseconds: int
    status: int | None = None
    response: str = ""
    error: str = ""
    retry_after: int = 0

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300 and not self.error

    @property
    def gone(self) -> bool:
        """Whether the endpoint says that it wants nothing any more."""
        return self.status == 410

    @property
    def is_test(self) -> bool:
        return self.claim.type == TEST_EVENT

    def delay(self) -> float | None:
        """Seconds until the next attempt if this one has failed; None if it was the last one.

        A test event has one attempt: somebody looks at what becomes of it.
        """
        failures = self.claim.failures + 1
        if failures >= len(DELAYS) or self.is_test:
            return None
        jittered = DELAYS[failures] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        return max(jittered, min(self.retry_after, MOST_RETRY_AFTER))


def claim(most: int, most_troubled: int, slow: Iterable[UUID]) -> list[Claim]:
    """Claims due deliveries.

    Those of endpoints that are off or deleted, or whose workspace may not use the API, wait.

    Args:
        most: how many at most, of endpoints that work.
        most_troubled: how many at most, of endpoints that fail or are slow.
        slow: the endpoints that are slow.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statements.BEGIN)
        # Not prepared: a plan that was made when there were few deliveries would read them all.
        cursor.execute(statements.CLAIM, [list(slow), most, most_troubled])
        return [Claim(*row) for row in cursor.fetchall()]


def renew(claims: Sequence[Claim]) -> None:
    """Keeps claims for some more seconds, unless they have ended."""
    with connection.cursor() as cursor:
        ids, own = [each.id for each in claims], [each.claim for each in claims]
        cursor.execute(statements.RENEW, [ids, own])


def record(results: Sequence[Result]) -> list[UUID]:
    """Records how attempts ended.

    Returns:
        The endpoints that have failed for too long, and are not switched off yet.
    """
    last = {
        result.claim.endpoint_id: result.succeeded
        for result in results
        if result.succeeded or not result.is_test  # a test that fails is no failure of the endpoint
    }
    failed = [id for id, succeeded in last.items() if not succeeded]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statements.NO_WAIT)
        cursor.executemany(statements.RECORD, [_columns(result) for result in results])
        for ids, state in ((list(set(last) - set(failed)), False), (failed, True)):
            if ids:
                cursor.execute(statements.FAILING, {"ids": ids, "failed": state})
    if not failed:
        return []
    too_long = Endpoint.objects.existing().filter(
        pk__in=failed, enabled=True, failing_since__lt=Now() - timedelta(days=FAILING_DAYS)
    )
    return list(too_long.values_list("pk", flat=True))


def _columns(result: Result) -> dict[str, Any]:
    return {
        "id": result.claim.id,
        "claim": result.claim.claim,
        "succeeded": result.succeeded,
        "delay": result.delay(),
        "started_at": result.started_at,
        "milliseconds": result.milliseconds,
        "status": result.status,
        "response": result.response,
        "error": result.error,
    }


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
    """Makes deliveries due now, with a whole schedule of attempts.

    Those whose first attempt is still to come are left out, and those that are being attempted.

    The consumer gets the same webhook-id; the attempts are numbered on.

    Returns:
        How many there are.
    """
    free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
    idle = deliveries.filter(~PENDING | FAILING & free)
    return idle.update(
        state=DeliveryState.PENDING,
        next_attempt_at=Now(),
        claim=None,
        claimed_until=None,
        failures=0,
    )
