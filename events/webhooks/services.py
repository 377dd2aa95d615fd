"""What changes an endpoint or sends something to it: each with its audit entry, in one transaction.

What changes an endpoint locks its row, so that concurrent calls come one after the other. What
sends something does not: the process that delivers locks a delivery first, then its endpoint.
All of them raise Endpoint.DoesNotExist if the endpoint was deleted.
"""

import logging
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from audit.models import Action
from audit.record import record
from config.runtime.request_context import actor
from events.webhooks import policy, queue, secrets
from events.webhooks.models import (
    FAILING,
    PENDING,
    TEST_DOCUMENT,
    TEST_EVENT,
    Delivery,
    DeliveryState,
    Endpoint,
    public_url,
)
from workspaces.models import Workspace

MOST_AGAIN = 10_000  # deliveries that are sent again at once

logger = logging.getLogger(__name__)


class AlreadyCreated(Exception):
    """An endpoint with this id exists or existed."""


class Changed(Exception):
    """Somebody else has changed the endpoint since the caller has read it."""


class TooMany(Exception):
    """The workspace has as many endpoints as it may have."""


@transaction.atomic
def create(
    *,
    workspace: Workspace,
    url: str,
    types: Sequence[str],
    by: User,
    id: uuid.UUID | None = None,
    label: str = "",
) -> tuple[Endpoint, str]:
    """Creates an endpoint, switched on.

    Args:
        url: checked by `targets.check_url`.
        id: the endpoint's id, if the caller has chosen it, so that a repeated call is detected.

    Returns:
        The endpoint and its raw secret, which is stored encrypted only.

    Raises:
        AlreadyCreated, TooMany.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    raw = secrets.new()
    try:
        with transaction.atomic():
            endpoint = Endpoint.objects.create(
                id=id or uuid.uuid4(),
                workspace=workspace,
                url=url,
                label=label,
                types=list(types),
                secret=secrets.encrypt(raw),
                created_by=by,
            )
    except IntegrityError as exc:
        raise AlreadyCreated from exc
    if workspace.endpoints.existing().count() > policy.MOST_ENDPOINTS:
        raise TooMany
    _record(Action.WEBHOOK_CREATED, endpoint, by.get_username(), ", ".join(types))
    return endpoint, raw


@transaction.atomic
def change(endpoint: Endpoint, *, url: str, label: str, types: Sequence[str], by: User) -> None:
    """Changes the URL, the label and the types of events. Deliveries that wait go to the new URL.

    Args:
        endpoint: as the user has seen it.

    Raises:
        Changed: another of these has changed by now, which would be overwritten.
    """
    now = _locked(endpoint)
    wanted, seen = (url, label, set(types)), (endpoint.url, endpoint.label, set(endpoint.types))
    if (now.url, now.label, set(now.types)) not in (wanted, seen):
        raise Changed
    changes = []
    if now.url != url:
        queries_only = public_url(url) == now.public_url
        changes.append("the URL's query" if queries_only else f"URL was {now.public_url}")
        now.failing_since = None  # that was the other URL
    if now.label != label:
        changes.append(f"name: {now.label or 'none'} → {label or 'none'}")
    if set(now.types) != set(types):
        changes.append(f"{', '.join(now.types)} → {', '.join(types)}")
    if changes:
        _update(now, url=url, label=label, types=list(types), failing_since=now.failing_since)
        _record(Action.WEBHOOK_CHANGED, now, by.get_username(), "; ".join(changes))


@transaction.atomic
def switch_on(endpoint: Endpoint, *, by: User) -> datetime | None:
    """Lets an endpoint receive events from now on; what waited for it is delivered.

    Returns:
        When it was switched off: events since then were not sent to it. None if it was on.
    """
    now = _locked(endpoint)
    if now.enabled:
        return None
    off_since = now.disabled_at
    _update(now, enabled=True, disabled_reason="", disabled_at=None, failing_since=None)
    _record(Action.WEBHOOK_SWITCHED_ON, now, by.get_username())
    return off_since


@transaction.atomic
def switch_off(endpoint: Endpoint, *, by: User | None = None, reason: str = "") -> None:
    """Stops all deliveries to an endpoint; none is added until it is switched on again.

    Does nothing if it is switched off or deleted already.

    Args:
        by: the user; None for the service.
        reason: why the service does it, after "because": "it responded with 410 Gone".
    """
    now = _existing(lock=True).filter(pk=endpoint.pk, enabled=True).first()
    if now is None:
        return
    _update(now, enabled=False, disabled_reason=reason, disabled_at=timezone.now())
    person = by.get_username() if by else actor()
    _record(Action.WEBHOOK_SWITCHED_OFF, now, person, reason)
    if by is None:
        logger.warning("Endpoint %s was switched off: %s", now.pk, reason)


def save_results(results: Sequence[queue.Result]) -> None:
    """Saves how attempts ended; endpoints that want no more, or fail too long, are switched off."""
    failed = queue.save(results)
    too_long = timezone.now() - timedelta(days=policy.FAILING_DAYS)
    failing = Endpoint.objects.filter(pk__in=failed, failing_since__lt=too_long)
    reasons = dict.fromkeys(failing.values_list("pk", flat=True), policy.FAILING)
    reasons |= {result.claim.endpoint_id: policy.GONE for result in results if result.gone}
    for id, reason in reasons.items():
        switch_off(Endpoint(pk=id), reason=reason)


@transaction.atomic
def roll_secret(endpoint: Endpoint, *, by: User) -> str:
    """Replaces the secret. For 24 hours, deliveries have a signature of each of the two.

    Returns:
        The new raw secret.
    """
    now = _locked(endpoint)
    raw = secrets.new()
    _update(
        now,
        previous_secret=now.secret,
        previous_secret_until=timezone.now() + policy.BOTH_SECRETS,
        secret=secrets.encrypt(raw),
    )
    _record(Action.WEBHOOK_SECRET_ROLLED, now, by.get_username())
    return raw


@transaction.atomic
def delete(endpoint: Endpoint, *, by: User) -> None:
    """Stops an endpoint for good and wipes its secrets; its deliveries stay for 30 days."""
    now = _locked(endpoint)
    wiped = {"secret": "", "previous_secret": "", "previous_secret_until": None}
    _update(now, deleted_at=timezone.now(), **wiped)
    _record(Action.WEBHOOK_DELETED, now, by.get_username())


@transaction.atomic
def send_test_event(endpoint: Endpoint, *, by: User) -> Delivery:
    """Adds a delivery that is about no document, so that an admin sees what arrives."""
    now = _existing().get(pk=endpoint.pk)
    delivery = now.deliveries.create(
        event_id=uuid.uuid4(),
        type=TEST_EVENT,
        occurred_at=Now(),
        document_id=TEST_DOCUMENT,
        status="COMPLETED",
        sequence=0,
    )
    _record(Action.WEBHOOK_TEST_SENT, now, by.get_username())
    return delivery


@transaction.atomic
def send_again(delivery: Delivery, *, by: User) -> None:
    """Sends a delivery once more, whatever became of it."""
    now = _existing().get(pk=delivery.endpoint_id)
    _make_due(now.deliveries.filter(pk=delivery.pk))
    _record(Action.WEBHOOK_SENT_AGAIN, now, by.get_username(), delivery.public_event_id)


@transaction.atomic
def send_failed_again(endpoint: Endpoint, *, by: User) -> int:
    """Sends once more what has failed: also what waits for its next attempt, at most 10,000.

    Returns:
        How many.
    """
    now = _existing().get(pk=endpoint.pk)
    failing = now.deliveries.filter(FAILING).values("pk")[:MOST_AGAIN]
    count = _make_due(now.deliveries.filter(pk__in=failing))
    if count:
        what = f"{count:,} failed {'delivery' if count == 1 else 'deliveries'}"
        _record(Action.WEBHOOK_SENT_AGAIN, now, by.get_username(), what)
    return count


def _make_due(deliveries: QuerySet[Delivery]) -> int:
    """Makes deliveries due now, with a whole schedule of attempts; returns how many.

    Those whose first attempt is still to come are left out, and those that are being attempted.
    The consumer gets the same webhook-id; the attempts are numbered on.
    """
    free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
    return deliveries.filter(~PENDING | FAILING & free).update(
        state=DeliveryState.PENDING,
        next_attempt_at=Now(),
        claim=None,
        claimed_until=None,
        failures=0,
    )


def _record(action: Action, endpoint: Endpoint, by: str, what: str = "") -> None:
    """Adds an entry that names the endpoint; its query may have a token, and is left out."""
    named = f"{endpoint.public_url} ({endpoint.pk})"
    detail = f"{named}: {what}" if what else named
    record(action, by=by, workspace=endpoint.workspace.snapshot(), detail=detail)


def _existing(*, lock: bool = False) -> QuerySet[Endpoint]:
    found = Endpoint.objects.existing().select_related("workspace")
    return found.select_for_update(of=("self",), no_key=True) if lock else found


def _locked(endpoint: Endpoint) -> Endpoint:
    return _existing(lock=True).get(pk=endpoint.pk)


def _update(endpoint: Endpoint, **values: Any) -> None:
    for name, value in values.items():
        setattr(endpoint, name, value)
    endpoint.save(update_fields=values)
