"""The queue of deliveries: which are due, who makes the attempts, and what became of them."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from events.webhooks import policy
from events.webhooks.models import PENDING, TEST_EVENT, Attempt, Delivery, Endpoint
from workspaces.api_access import HAS_API_ACCESS

LOCK = 0x686F6F6B  # an arbitrary number, unique among our advisory locks

# Neither claims nor results wait for the disk: if the database's machine crashes, those of the last
# second are lost, and the attempts are repeated.
NO_WAIT = "SELECT set_config('synchronous_commit', 'off', true)"
# Claims are made one after the other, so that AT_ONCE is exact.
BEGIN = f"{NO_WAIT}, pg_advisory_xact_lock({LOCK})"
# `waiting` jumps from endpoint to endpoint along the index delivery_due, whose whole order it asks
# for: no other index has it, so however old the planner's statistics are, the number of deliveries
# of an endpoint does not matter. `ready` are those that may receive; only theirs are read.
READY = f"""
    WITH RECURSIVE waiting (endpoint_id) AS (
        (SELECT endpoint_id FROM webhooks_delivery WHERE state = 'PENDING'
        ORDER BY endpoint_id, next_attempt_at, id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT endpoint_id FROM webhooks_delivery
            WHERE state = 'PENDING' AND endpoint_id > waiting.endpoint_id
            ORDER BY endpoint_id, next_attempt_at, id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    ), ready AS MATERIALIZED (
        SELECT endpoint.id, endpoint.failing_since IS NOT NULL AS failing
        FROM waiting JOIN webhooks_endpoint AS endpoint ON endpoint.id = waiting.endpoint_id
        JOIN workspaces_workspace AS workspace ON workspace.id = endpoint.workspace_id
        WHERE endpoint.enabled AND endpoint.deleted_at IS NULL AND {HAS_API_ACCESS}
    )
"""  # noqa: S608 - made of constants
# Each endpoint's first delivery comes before any endpoint's second. The deliveries are updated by
# their ids, along the index: a join could read all of them while the planner's statistics are old.
CLAIM = f"""
    {READY}, due AS (
        SELECT first.*, endpoint.degraded, row_number() OVER (
            PARTITION BY endpoint.id ORDER BY first.next_attempt_at, first.id) AS nth
        FROM (
            SELECT id, failing OR id = ANY (%(slow)s::uuid[]) AS degraded FROM ready
        ) AS endpoint CROSS JOIN LATERAL (
            SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = endpoint.id AND delivery.state = 'PENDING'
                AND delivery.next_attempt_at <= statement_timestamp()
                AND (delivery.claimed_until IS NULL
                    OR delivery.claimed_until <= statement_timestamp())
                AND (delivery.attempts > 0 OR NOT EXISTS (
                    SELECT FROM webhooks_delivery AS earlier
                    WHERE earlier.endpoint_id = endpoint.id
                        AND earlier.document_id = delivery.document_id
                        AND earlier.sequence < delivery.sequence
                        AND earlier.state = 'PENDING' AND earlier.attempts = 0))
            ORDER BY delivery.next_attempt_at, delivery.id
            LIMIT greatest(0, CASE WHEN endpoint.degraded
                THEN {policy.AT_ONCE_DEGRADED} ELSE {policy.AT_ONCE} END - (
                    SELECT count(*) FROM webhooks_delivery AS running
                    WHERE running.endpoint_id = endpoint.id
                        AND running.claimed_until > statement_timestamp()))
        ) AS first
    ), placed AS (
        SELECT id, degraded, row_number() OVER (
            PARTITION BY degraded ORDER BY nth, next_attempt_at, id) AS place
        FROM due
    )
    UPDATE webhooks_delivery SET claim = gen_random_uuid(),
        claimed_until = statement_timestamp() + interval '{policy.LEASE_SECONDS} s'
    WHERE id = ANY (ARRAY(
        SELECT id FROM placed
        WHERE place <= CASE WHEN degraded THEN %(most_degraded)s ELSE %(most)s END))
    RETURNING id
"""  # noqa: S608 - made of constants

# A process whose claim has ended, so that another one may have the delivery, adds its attempt, and
# a success is a success; the rest is the other's. An attempt that is already there was saved by a
# commit whose response was lost.
_MINE = "(%(succeeded)s OR claim = %(claim)s)"
SAVE = f"""
    WITH saved AS (
        UPDATE webhooks_delivery SET
            attempts = attempts + 1,
            failures = failures + CASE WHEN %(succeeded)s THEN 0 ELSE 1 END,
            state = CASE WHEN {_MINE} THEN %(state)s ELSE state END,
            next_attempt_at = CASE WHEN {_MINE}
                THEN statement_timestamp() + %(delay)s::float8 * interval '1 s'
                ELSE next_attempt_at END,
            claim = CASE WHEN {_MINE} THEN NULL ELSE claim END,
            claimed_until = CASE WHEN {_MINE} THEN NULL ELSE claimed_until END
        WHERE id = %(id)s AND NOT EXISTS (
            SELECT FROM webhooks_attempt
            WHERE delivery_id = %(id)s AND started_at = %(started_at)s)
        RETURNING id, attempts
    )
    INSERT INTO webhooks_attempt
        (delivery_id, number, started_at, milliseconds, status, response, error)
    SELECT id, attempts, %(started_at)s, %(milliseconds)s, %(status)s, %(response)s, %(error)s
    FROM saved
"""  # noqa: S608 - made of constants

# Failures of long ago do not count if all that failed then was given up: no delivery has failed
# and is still tried. As long as the first one can be tried, nobody has to look.
_FAILS_ANEW = Q(failing_since=None) | Q(
    ~Exists(Delivery.objects.filter(PENDING, endpoint=OuterRef("pk"), failures__gt=0)),
    failing_since__lt=Now() - timedelta(seconds=policy.TRIED_SECONDS),
)


def claim(most: int, most_degraded: int, slow: Iterable[UUID]) -> list[Delivery]:
    """Claims due deliveries, of which this process makes the next attempts.

    Those of endpoints that are off or deleted, or whose workspace may not use the API, wait.

    Args:
        most: how many at most, of endpoints that work.
        most_degraded: how many at most, of endpoints that fail or are slow.
        slow: the endpoints that are slow.
    """
    values: dict[str, Any] = {"most": most, "most_degraded": most_degraded, "slow": list(slow)}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BEGIN)
        # Not prepared: a plan that was made when there were few deliveries would read them all.
        cursor.execute(CLAIM, values)
        ids = [id for (id,) in cursor.fetchall()]
        # Of one that was deleted just now, the secret is erased.
        claimed = Delivery.objects.filter(pk__in=ids, endpoint__deleted_at=None)
        return list(claimed.select_related("endpoint"))


def save(ended: Sequence[Attempt]) -> list[UUID]:
    """Saves how attempts ended, and since when endpoints fail; returns those that failed before."""
    last = {
        attempt.delivery.endpoint_id: attempt.succeeded
        for attempt in ended
        # A test that fails is no failure of the endpoint.
        if attempt.succeeded or attempt.delivery.type != TEST_EVENT
    }
    failed = [id for id, succeeded in last.items() if not succeeded]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(NO_WAIT)
        failing_anew = Endpoint.objects.filter(_FAILS_ANEW, pk__in=failed)
        anew = list(failing_anew.values_list("pk", flat=True))
        cursor.executemany(SAVE, [_values(attempt) for attempt in ended])
        _set_failing_since(Now(), Endpoint.objects.filter(pk__in=anew))
        works = Endpoint.objects.filter(pk__in=set(last) - set(failed))
        _set_failing_since(None, works.exclude(failing_since=None))
    return [id for id in failed if id not in anew]


def _values(attempt: Attempt) -> dict[str, Any]:
    """The values of `SAVE`. A test event has one attempt: somebody looks at its result."""
    delivery, succeeded = attempt.delivery, attempt.succeeded
    ends = succeeded or delivery.type == TEST_EVENT
    delay = None if ends else policy.next_delay(delivery.failures + 1, attempt.retry_after)
    failed = "FAILED" if delay is None else "PENDING"
    return {
        **vars(attempt),
        "id": delivery.pk,
        "claim": delivery.claim,
        "succeeded": succeeded,
        "state": "DELIVERED" if succeeded else failed,
        "delay": delay,
    }


def _set_failing_since(time: Now | None, endpoints: QuerySet[Endpoint]) -> None:
    """One that somebody else is changing is left out: its next attempt says the same."""
    locked = endpoints.select_for_update(skip_locked=True, no_key=True).order_by("pk")
    Endpoint.objects.filter(pk__in=locked.values("pk")).update(failing_since=time)
