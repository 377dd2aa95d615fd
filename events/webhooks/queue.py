"""The queue of deliveries: which are due, who makes the attempts, and what became of them."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from events.webhooks import policy, services
from events.webhooks.models import PENDING, TEST_EVENT, Attempt, Delivery, Endpoint
from workspaces.api_access import HAS_API_ACCESS

logger = logging.getLogger(__name__)

LOCK = 0x686F6F6B  # an arbitrary number, unique among our advisory locks

# Neither claims nor results wait for the disk: if the database's machine crashes, those of the last
# second are lost, and the attempts are repeated.
NO_WAIT = "SELECT set_config('synchronous_commit', 'off', true)"
# Claims are made one after the other, so that AT_ONCE is exact.
BEGIN = f"{NO_WAIT}, pg_advisory_xact_lock({LOCK})"
# The endpoints that may receive.
READY = f"""
    WITH ready AS MATERIALIZED (
        SELECT endpoint.id, endpoint.failing_since IS NOT NULL AS failing
        FROM webhooks_endpoint AS endpoint
        JOIN workspaces_workspace AS workspace ON workspace.id = endpoint.workspace_id
        WHERE endpoint.enabled AND endpoint.deleted_at IS NULL AND {HAS_API_ACCESS}
    )
"""  # noqa: S608 - made of constants
# An endpoint that fails has one attempt at once, and comes last; each endpoint's first delivery
# comes before any endpoint's second. The whole order of the index delivery_due is asked for, and
# the deliveries are updated by their ids: however old the planner's statistics are, the number of
# deliveries of an endpoint does not matter. One whose result is just being saved is left out.
CLAIM = f"""
    {READY}, due AS (
        SELECT first.*, ready.failing, row_number() OVER (
            PARTITION BY ready.id ORDER BY first.next_attempt_at, first.id) AS nth
        FROM ready CROSS JOIN LATERAL (
            SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = ready.id AND delivery.state = 'PENDING'
                AND delivery.next_attempt_at <= statement_timestamp()
                AND (delivery.claimed_until IS NULL
                    OR delivery.claimed_until <= statement_timestamp())
                AND (delivery.attempts > 0 OR NOT EXISTS (
                    SELECT FROM webhooks_delivery AS earlier
                    WHERE earlier.endpoint_id = ready.id
                        AND earlier.document_id = delivery.document_id
                        AND earlier.sequence < delivery.sequence
                        AND earlier.state = 'PENDING' AND earlier.attempts = 0))
            ORDER BY delivery.next_attempt_at, delivery.id
            LIMIT greatest(0, CASE WHEN ready.failing THEN 1 ELSE {policy.AT_ONCE} END - (
                SELECT count(*) FROM webhooks_delivery AS running
                WHERE running.endpoint_id = ready.id
                    AND running.claimed_until > statement_timestamp()))
        ) AS first
    )
    UPDATE webhooks_delivery SET claim = gen_random_uuid(),
        claimed_until = statement_timestamp() + interval '{policy.LEASE_SECONDS} s'
    WHERE id = ANY (ARRAY(
        SELECT id FROM webhooks_delivery WHERE id = ANY (ARRAY(
                SELECT id FROM due ORDER BY failing, nth, next_attempt_at, id LIMIT %s))
            AND state = 'PENDING'
            AND (claimed_until IS NULL OR claimed_until <= statement_timestamp())
        FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING id
"""  # noqa: S608 - made of constants

# If another process has claimed the delivery meanwhile, the attempt is that one's to report. A
# result that was saved by a commit whose response was lost has ended its claim.
OUTCOME = ("started_at", "milliseconds", "status", "response", "error")  # of an attempt
SAVE = """
    WITH saved AS (
        UPDATE webhooks_delivery SET attempts = attempts + 1,
            failures = failures + %(failed)s::int, state = %(state)s,
            next_attempt_at = statement_timestamp() + %(delay)s::float8 * interval '1 s',
            claim = NULL, claimed_until = NULL
        WHERE id = %(id)s AND claim = %(claim)s
        RETURNING id, attempts
    )
    INSERT INTO webhooks_attempt
        (delivery_id, number, started_at, milliseconds, status, response, error)
    SELECT id, attempts, %(started_at)s, %(milliseconds)s, %(status)s, %(response)s, %(error)s
    FROM saved
"""


def claim(most: int) -> list[Delivery]:
    """Claims due deliveries: this process makes their next attempts.

    Those of endpoints that are off or deleted, or whose workspace may not use the API, wait.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BEGIN)
        # Not prepared: a plan that was made when there were few deliveries would read them all.
        cursor.execute(CLAIM, [most])
        ids = [id for (id,) in cursor.fetchall()]
        # Of one that was deleted just now, the secret is erased.
        claimed = Delivery.objects.filter(pk__in=ids, endpoint__deleted_at=None)
        return list(claimed.select_related("endpoint"))


def save(ended: Sequence[Attempt]) -> None:
    """Saves how attempts ended. A result that the database refuses is lost: it is tried again."""
    try:
        _save(ended)
    except (DataError, IntegrityError):
        if len(ended) == 1:
            logger.exception("The result of delivery %s is lost", ended[0].delivery_id)
        else:
            for attempt in ended:
                save([attempt])


def _save(ended: Sequence[Attempt]) -> None:
    """Saves how attempts ended, and since when their endpoints fail.

    An endpoint fails from its first failed attempt on, until one succeeds or no delivery that has
    failed is tried any more. A test event that fails is no failure. Endpoints that want no more,
    or that fail for too long, are switched off.
    """
    ids: set[UUID] = {attempt.delivery.endpoint_id for attempt in ended}
    works = {attempt.delivery.endpoint_id for attempt in ended if attempt.succeeded}
    tries_again = Exists(Delivery.objects.filter(PENDING, endpoint=OuterRef("pk"), failures__gt=0))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(NO_WAIT)
        in_order = sorted(ended, key=attrgetter("delivery_id"))  # as `services.send_again` locks
        cursor.executemany(SAVE, [_values(attempt) for attempt in in_order])
        ended_failing = Q(pk__in=works) | Q(~tries_again)
        _set(ids, ended_failing & ~Q(failing_since=None), None)
        _set(ids - works, Q(tries_again, failing_since=None), Now())
    gone = {each.delivery.endpoint_id for each in ended if each.status == policy.GONE_STATUS}
    since = timezone.now() - timedelta(days=policy.FAILING_DAYS)
    failing = Q(pk__in=ids - works, failing_since__lt=since)
    for endpoint in Endpoint.objects.filter(Q(pk__in=gone) | failing):
        reason = policy.GONE if endpoint.pk in gone else policy.FAILING
        services.switch_off(endpoint, reason=reason)


def _values(attempt: Attempt) -> dict[str, Any]:
    """The values of `SAVE`. A test event has one attempt: somebody looks at its result."""
    delivery = attempt.delivery
    delay = None
    if not attempt.succeeded and delivery.type != TEST_EVENT:
        delay = policy.next_delay(delivery.failures + 1, attempt.retry_after)
    state = "FAILED" if delay is None else "PENDING"
    if attempt.succeeded:
        state = "DELIVERED"
    return {name: getattr(attempt, name) for name in OUTCOME} | {
        "id": delivery.pk,
        "claim": delivery.claim,
        "failed": not attempt.succeeded,
        "state": state,
        "delay": delay,
    }


def _set(endpoints: set[UUID], which: Q, failing_since: Now | None) -> None:
    """Leaves out endpoints that somebody else is changing: their next attempt says the same."""
    rows = Endpoint.objects.filter(which, pk__in=endpoints).order_by("pk")
    locked = rows.select_for_update(skip_locked=True, no_key=True, of=("self",))
    Endpoint.objects.filter(pk__in=locked.values("pk")).update(failing_since=failing_since)
