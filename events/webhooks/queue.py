"""The queue of deliveries: which are due, who makes the attempts, and what became of them."""

import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from config.database import fetch
from events.webhooks.models import (
    FAILING,
    PENDING,
    TEST_DOCUMENT,
    TEST_EVENT,
    Delivery,
    DeliveryState,
    Endpoint,
)
from workspaces.api_access import HAS_API_ACCESS

# Seconds before each attempt, from the end of the one before: 5 s, 5 min, 30 min, 2 h, 5 h, …
DELAYS = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
JITTER = 0.1  # a delay is up to this share longer or shorter
MOST_RETRY_AFTER = 3600  # seconds: a Retry-After asks for this much at most
CLAIM_SECONDS = 30  # until a claim ends whose process was killed; more than an attempt takes
AT_ONCE = 10  # attempts in progress for an endpoint, over all processes
AT_ONCE_TROUBLED = 1  # for one that fails or is slow
FAILING_DAYS = 5  # without any success, until an endpoint is switched off
LOCK = 0x686F6F6B  # an arbitrary number, unique among our advisory locks

# Any plan but one along the indexes would read all deliveries; a generic plan may be as old as an
# empty table. Claims are made one after the other, so that AT_ONCE is exact.
_BEGIN = f"SELECT pg_advisory_xact_lock({LOCK})::text, " + ", ".join(
    f"set_config('enable_{name}', 'off', true)"
    for name in ("bitmapscan", "hashjoin", "mergejoin", "seqscan", "sort")
)
# `waiting` jumps from endpoint to endpoint along the index delivery_due, so the number of an
# endpoint's deliveries does not matter. `ready` are those that may receive.
READY = f"""
    WITH RECURSIVE waiting (endpoint_id) AS (
        (SELECT endpoint_id FROM webhooks_delivery WHERE state = 'PENDING'
        ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT endpoint_id FROM webhooks_delivery
            WHERE state = 'PENDING' AND endpoint_id > waiting.endpoint_id
            ORDER BY endpoint_id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    ), ready AS (
        SELECT endpoint.id, endpoint.failing_since IS NOT NULL AS failing
        FROM waiting CROSS JOIN LATERAL (
            SELECT * FROM webhooks_endpoint AS endpoint
            WHERE endpoint.id = waiting.endpoint_id AND endpoint.enabled
                AND endpoint.deleted_at IS NULL
        ) AS endpoint
        JOIN workspaces_workspace AS workspace ON workspace.id = endpoint.workspace_id
        WHERE {HAS_API_ACCESS}
    )
"""  # noqa: S608 - made of constants
# Each endpoint's first delivery comes before any endpoint's second.
_CLAIM = f"""
    {READY}, due AS (
        SELECT first.id, first.next_attempt_at, endpoint.troubled,
            row_number() OVER (
                PARTITION BY endpoint.id ORDER BY first.next_attempt_at, first.id) AS turn
        FROM (
            SELECT id, failing OR id = ANY (%s::uuid[]) AS troubled FROM ready
        ) AS endpoint CROSS JOIN LATERAL (
            SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = endpoint.id AND delivery.state = 'PENDING'
                AND delivery.next_attempt_at <= statement_timestamp()
                AND (delivery.claimed_until <= statement_timestamp()) IS NOT FALSE
                AND (delivery.attempts > 0 OR NOT EXISTS (
                    SELECT FROM webhooks_delivery AS earlier
                    WHERE earlier.endpoint_id = endpoint.id
                        AND earlier.document_id = delivery.document_id
                        AND earlier.sequence < delivery.sequence
                        AND earlier.state = 'PENDING' AND earlier.attempts = 0))
            ORDER BY delivery.next_attempt_at, delivery.id
            LIMIT greatest(0,
                CASE WHEN endpoint.troubled THEN {AT_ONCE_TROUBLED} ELSE {AT_ONCE} END - (
                    SELECT count(*) FROM webhooks_delivery AS running
                    WHERE running.endpoint_id = endpoint.id
                        AND running.claimed_until > statement_timestamp()))
        ) AS first
    ), chosen AS (
        (SELECT id, troubled FROM due WHERE NOT troubled
        ORDER BY turn, next_attempt_at, id LIMIT %s::int)
        UNION ALL
        (SELECT id, troubled FROM due WHERE troubled
        ORDER BY turn, next_attempt_at, id LIMIT %s::int)
    )
    UPDATE webhooks_delivery AS delivery
    SET claimed_until = statement_timestamp() + interval '{CLAIM_SECONDS} s'
    FROM chosen, webhooks_endpoint AS endpoint
    WHERE delivery.id = chosen.id AND endpoint.id = delivery.endpoint_id
    RETURNING delivery.id, delivery.claimed_until, delivery.failures, delivery.event_id,
        delivery.type, delivery.occurred_at, delivery.document_id::text, delivery.status,
        endpoint.id, endpoint.url, endpoint.secret,
        CASE WHEN endpoint.previous_secret_until > statement_timestamp()
            THEN endpoint.previous_secret ELSE '' END,
        chosen.troubled
"""  # noqa: S608 - made of constants

# `mine` is false for a process that was silent for so long that another one has claimed the
# delivery since. It adds its attempt, and a success is a success; the rest is the other's. An
# attempt that is already there was recorded by a commit whose response was lost.
_RECORD = """
    WITH result AS (
        SELECT %(id)s::bigint AS id, %(claimed_until)s::timestamptz AS claimed_until,
            %(succeeded)s::boolean AS succeeded, %(delay)s::float8 AS delay,
            %(started_at)s::timestamptz AS started_at
    ), recorded AS (
        UPDATE webhooks_delivery AS delivery SET
            attempts = attempts + 1,
            failures = failures + CASE WHEN succeeded THEN 0 ELSE 1 END,
            state = CASE WHEN succeeded THEN 'DELIVERED'
                WHEN mine AND delay IS NULL THEN 'FAILED' ELSE state END,
            next_attempt_at = CASE WHEN succeeded THEN NULL
                WHEN mine THEN statement_timestamp() + delay * interval '1 s'
                ELSE next_attempt_at END,
            claimed_until = CASE WHEN succeeded OR mine THEN NULL ELSE delivery.claimed_until END
        FROM result CROSS JOIN LATERAL (
            SELECT coalesce(now_claimed.claimed_until = result.claimed_until, false) AS mine
            FROM webhooks_delivery AS now_claimed WHERE now_claimed.id = result.id
        ) AS claim
        WHERE delivery.id = result.id AND NOT EXISTS (
            SELECT FROM webhooks_attempt AS attempt
            WHERE attempt.delivery_id = delivery.id AND attempt.started_at = result.started_at)
        RETURNING delivery.id, attempts
    )
    INSERT INTO webhooks_attempt
        (delivery_id, number, started_at, milliseconds, status, response, error)
    SELECT id, attempts, %(started_at)s, %(milliseconds)s, %(status)s, %(response)s, %(error)s
    FROM recorded
"""

# One that somebody else is changing at the moment is left out: its next attempt says the same.
_FAILING = """
    UPDATE webhooks_endpoint SET failing_since = CASE WHEN %(failed)s THEN now() END
    WHERE id IN (
        SELECT id FROM webhooks_endpoint
        WHERE id = ANY (%(ids)s) AND (failing_since IS NULL) = %(failed)s
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
"""


class Claim(NamedTuple):
    """A delivery of which this process makes the next attempt, with what that needs.

    Attributes:
        failures: so many attempts of the present schedule have failed.
        previous_secret: encrypted, as `secret`; "" if it does not sign any more.
        troubled: the endpoint fails or is slow.
    """

    id: int
    claimed_until: datetime
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

    def delay(self) -> float | None:
        """Seconds until the next attempt if this one has failed; None if it was the last one."""
        failures = self.claim.failures + 1
        if failures >= len(DELAYS):
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
    with transaction.atomic():
        fetch(_BEGIN, ())
        slow_ids = f"{{{','.join(map(str, slow))}}}"
        return [Claim(*row) for row in fetch(_CLAIM, (slow_ids, most, most_troubled))]


def record(results: Sequence[Result]) -> list[UUID]:
    """Records how attempts ended.

    Returns:
        The endpoints that have failed for too long, and are not switched off yet.
    """
    last = {result.claim.endpoint_id: result.succeeded for result in results}
    failed = [id for id, succeeded in last.items() if not succeeded]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(_RECORD, [_columns(result) for result in results])
        cursor.execute(_FAILING, {"ids": list(set(last) - set(failed)), "failed": False})
        if failed:
            cursor.execute(_FAILING, {"ids": failed, "failed": True})
    if not failed:
        return []
    too_long = Endpoint.objects.existing().filter(
        pk__in=failed, enabled=True, failing_since__lt=Now() - timedelta(days=FAILING_DAYS)
    )
    return list(too_long.values_list("pk", flat=True))


def _columns(result: Result) -> dict[str, str | int | float | datetime | None]:
    return {
        "id": result.claim.id,
        "claimed_until": result.claim.claimed_until,
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
        state=DeliveryState.PENDING, next_attempt_at=Now(), claimed_until=None, failures=0
    )
