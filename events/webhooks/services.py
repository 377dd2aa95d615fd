"""Changes to endpoints, and deliveries on request: each with its audit entry, in one transaction.

Changes lock the endpoint's row, so that concurrent ones wait for each other. What adds deliveries
does not: the process that delivers locks a delivery first, then its endpoint. All raise
Endpoint.DoesNotExist if the endpoint was deleted.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from audit.models import Action
from audit.record import record
from config.request.context import actor
from events.webhooks import policy, secrets
from events.webhooks.models import (
    FAILING,
    PENDING,
    TEST_EVENT,
    UNDELIVERED,
    Delivery,
    DeliveryState,
    Endpoint,
)
from workspaces import mails
from workspaces.models import Workspace

MOST_AGAIN = 10_000  # deliveries that are sent again at once


@transaction.atomic
def create(
    *,
    workspace: Workspace,
    url: str,
    types: Sequence[str],
    by: User,
    new_id: uuid.UUID | None = None,
    label: str = "",
) -> tuple[Endpoint, str]:
    """Creates an endpoint, switched on, and returns it with its raw secret.

    Raises IntegrityError if an endpoint with this id exists or existed, and ValidationError if the
    workspace has too many.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    raw = secrets.new()
    endpoint = Endpoint.objects.create(
        id=new_id or uuid.uuid4(),
        workspace=workspace,
        url=url,
        label=label,
        types=list(types),
        secret=secrets.encrypt(raw),
    )
    if workspace.endpoints.existing().count() > policy.MOST_ENDPOINTS:
        raise ValidationError(
            f"A workspace may have {policy.MOST_ENDPOINTS} webhooks. Delete one that is not needed."
        )
    _record(Action.WEBHOOK_CREATED, endpoint, by, ", ".join(types))
    return endpoint, raw


@transaction.atomic
def change(endpoint: Endpoint, *, url: str, label: str, types: Sequence[str], by: User) -> None:
    """Deliveries that wait go to the new URL, those that have failed at once."""
    now = _locked(endpoint).get()
    changes = []
    if now.url != url:
        same_host = urlsplit(url).netloc == urlsplit(now.url).netloc
        changes.append("the URL after its host" if same_host else f"URL was {now.public_url}")
        now.failing_since = None  # that was the other URL
        _start_again(now.deliveries.filter(FAILING, PENDING))
    if now.label != label:
        changes.append(f"name changed from {now.label or 'none'} to {label or 'none'}")
    if set(now.types) != set(types):
        changes.append(f"events changed from {', '.join(now.types)} to {', '.join(types)}")
    if changes:
        now.url, now.label, now.types = url, label, list(types)
        _save(now, Action.WEBHOOK_CHANGED, by, "; ".join(changes))


@transaction.atomic
def switch_on(endpoint: Endpoint, *, by: User) -> None:
    """Deliveries that waited are sent."""
    now = _locked(endpoint).get()
    if not now.enabled:
        now.enabled, now.disabled_reason = True, ""
        now.disabled_at = now.failing_since = None
        _start_again(now.deliveries.filter(FAILING, PENDING))
        _save(now, Action.WEBHOOK_SWITCHED_ON, by)


@transaction.atomic
def switch_off(endpoint: Endpoint, *, by: User | None = None, reason: str = "") -> None:
    """Stops all deliveries to an endpoint; none is added until it is switched on again.

    The service itself gives the reason, after "because": "it responded with 410 Gone".
    """
    now = _locked(endpoint).filter(enabled=True).first()
    if now is None:  # it is off, or deleted
        return
    now.enabled, now.disabled_reason, now.disabled_at = False, reason, timezone.now()
    _save(now, Action.WEBHOOK_SWITCHED_OFF, by, reason)
    if by is None:
        text = (
            f"{now.name} is off because {reason}. Events that happen meanwhile are not sent: "
            "GET /api/v1/events has them for 30 days."
        )
        mails.tell_admins(now.workspace, f"Webhook switched off: {now.workspace}", text, now)


def notify_of_failing() -> None:
    """Adds an e-mail to the admins about each endpoint that has failed for an hour, once."""
    since = timezone.now() - timedelta(hours=1)
    for each in Endpoint.objects.existing().filter(enabled=True, failing_since__lt=since):
        text = f"{each.name} fails. After {policy.FAILING_DAYS} days it is switched off."
        subject, about = f"A webhook fails: {each.workspace}", f"{each.pk} {each.failing_since}"
        mails.tell_admins(each.workspace, subject, text, each, about)


@transaction.atomic
def roll_secret(endpoint: Endpoint, *, by: User, seen: str) -> str:
    """Replaces the secret and returns it. For 24 hours, deliveries have a signature of each.

    Raises ValidationError if `seen` is not its `previous_secret_until`: one form rolls once.
    """
    now = _locked(endpoint).get()
    if str(now.previous_secret_until) != seen:
        raise ValidationError(
            "Nothing was rolled: the secret was rolled since this form was opened. A secret is "
            "shown only once; if you did not copy it, roll it again."
        )
    raw = secrets.new()
    now.previous_secret = now.secret
    now.secret = secrets.encrypt(raw)
    now.previous_secret_until = timezone.now() + policy.BOTH_SECRETS
    _save(now, Action.WEBHOOK_SECRET_ROLLED, by)
    return raw


@transaction.atomic
def delete(endpoint: Endpoint, *, by: User) -> None:
    """Stops an endpoint for good and wipes its secrets; its deliveries stay for 30 days."""
    now = _locked(endpoint).get()
    now.secret = now.previous_secret = ""
    now.previous_secret_until = None
    now.deleted_at = timezone.now()
    _save(now, Action.WEBHOOK_DELETED, by)


@transaction.atomic
def send_test_event(endpoint: Endpoint, *, by: User) -> None:
    now = Endpoint.objects.existing().get(pk=endpoint.pk)
    now.deliveries.create(
        workspace_id=now.workspace_id,
        event_id=uuid.uuid4(),
        type=TEST_EVENT,
        occurred_at=Now(),
        document_id=uuid.UUID(int=0),  # it is about no document
        status="COMPLETED",
        sequence=0,
    )
    _record(Action.WEBHOOK_TEST_SENT, now, by)


@transaction.atomic
def send_again(endpoint: Endpoint, *, by: User, only: Delivery | None = None) -> int:
    """Makes failed deliveries due now, with a whole schedule of attempts; returns how many.

    It leaves out test events, those that are being attempted, and those that wait for their first
    attempt. The consumer gets the same webhook-id, and the attempts are numbered on. With `only`,
    that delivery is sent again, also a test or one that has not failed.
    """
    now = Endpoint.objects.existing().get(pk=endpoint.pk)
    chosen = now.deliveries.filter(Q(pk=only.pk) if only else UNDELIVERED)
    if count := _start_again(chosen):
        deliveries = f"{count:,} deliver{'y' if count == 1 else 'ies'}"
        what = f"{deliveries}: {only.public_event_id}" if only else deliveries
        _record(Action.WEBHOOK_SENT_AGAIN, now, by, what)
    return count


def _start_again(deliveries: QuerySet[Delivery]) -> int:
    """Makes them due now, but for those that are being attempted; returns how many."""
    ids = deliveries.values("pk")[:MOST_AGAIN]
    free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
    again = Delivery.objects.filter(~PENDING | (FAILING & free), pk__in=ids).order_by("pk")
    locked = again.select_for_update(no_key=True, of=("self",)).values("pk")
    return Delivery.objects.filter(pk__in=locked).update(
        state=DeliveryState.PENDING,
        next_attempt_at=Now(),
        claim=None,
        claimed_until=None,
        failures=0,
    )


def _locked(endpoint: Endpoint) -> QuerySet[Endpoint]:
    found = Endpoint.objects.existing().filter(pk=endpoint.pk)
    return found.select_for_update(of=("self",), no_key=True)


def _save(endpoint: Endpoint, action: Action, by: User | None, what: str = "") -> None:
    endpoint.save()
    _record(action, endpoint, by, what)


def _record(action: Action, endpoint: Endpoint, by: User | None, what: str = "") -> None:
    """Adds an entry that names the endpoint, without what follows the host: it may be a secret."""
    named = f"{endpoint.label} {endpoint.public_url} ({endpoint.pk})".lstrip()
    record(
        action,
        by=by.get_username() if by else actor(),
        workspace=endpoint.workspace.snapshot(),
        detail=f"{named}: {what}" if what else named,
    )
