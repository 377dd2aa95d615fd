"""The life of an endpoint: each change with its audit entry, in one transaction.

What changes an endpoint locks its row, so that concurrent calls come one after the other. What
sends something does not: the process that delivers locks a delivery first, then its endpoint.
"""

import uuid
from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.models import Action
from audit.record import record
from config import mail
from config.admin.signin.notices import address_of
from config.request_context import actor
from events.webhooks import queue, secrets
from events.webhooks.models import BOTH_SECRETS, FAILING, Delivery, Endpoint, public_url
from workspaces.models import Membership, Workspace

MOST = 20  # endpoints of a workspace: each one multiplies what is delivered
MOST_AGAIN = 10_000  # deliveries that are sent again at once


class AlreadyCreated(Exception):
    """An endpoint with this id exists or existed."""


class Changed(Exception):
    """Somebody else has changed the endpoint since the caller has read it."""


class TooMany(Exception):
    """The workspace has as many endpoints as it may have."""


@transaction.atomic
def create(
    *, workspace: Workspace, url: str, types: Sequence[str], by: User, id: uuid.UUID | None = None
) -> tuple[Endpoint, str]:
    """Creates an endpoint, switched on.

    Args:
        url: checked by `targets.check_url`.
        id: the endpoint's id, if the caller has chosen it, so that a repeated call is detected.

    Returns:
        The endpoint and its raw secret, which is stored encrypted only.

    Raises:
        AlreadyCreated: an endpoint with this id exists or existed.
        TooMany: the workspace has 20 endpoints.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    id = id or uuid.uuid4()
    if Endpoint.objects.filter(pk=id).exists():
        raise AlreadyCreated
    if workspace.endpoints.existing().count() >= MOST:
        raise TooMany
    raw = secrets.new()
    endpoint = Endpoint(
        id=id,
        workspace=workspace,
        url=url,
        types=list(types),
        secret=secrets.encrypt(raw),
        created_by=by,
    )
    try:
        with transaction.atomic():
            endpoint.save(force_insert=True)
    except IntegrityError as exc:  # for another workspace, at the same time
        raise AlreadyCreated from exc
    _record(Action.WEBHOOK_CREATED, endpoint, by.get_username(), ", ".join(types))
    return endpoint, raw


@transaction.atomic
def change(endpoint: Endpoint, *, url: str, types: Sequence[str], by: User) -> None:
    """Changes the URL and the types of events. Deliveries that wait go to the new URL.

    Args:
        endpoint: as the user has seen it.

    Raises:
        Changed: it has another URL or other types by now, which would be overwritten.
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _locked(endpoint)
    wanted = (url, set(types))
    if (now.url, set(now.types)) not in (wanted, (endpoint.url, set(endpoint.types))):
        raise Changed
    changes = []
    if now.url != url:
        queries_only = public_url(url) == now.public_url
        changes.append("the URL's query" if queries_only else f"URL was {now.public_url}")
        now.failing_since = None  # that was the other URL
    if set(now.types) != set(types):
        changes.append(f"{', '.join(now.types)} → {', '.join(types)}")
    if changes:
        now.url, now.types = url, list(types)
        now.save(update_fields=["url", "types", "failing_since"])
        _record(Action.WEBHOOK_CHANGED, now, by.get_username(), "; ".join(changes))


@transaction.atomic
def switch_on(endpoint: Endpoint, *, by: User) -> datetime | None:
    """Lets an endpoint receive events from now on; what waited for it is delivered.

    Returns:
        When it was switched off: events since then were not sent to it. None if it was on.

    Raises:
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _locked(endpoint)
    if now.enabled:
        return None
    Endpoint.objects.filter(pk=now.pk).update(
        enabled=True, disabled_reason="", disabled_at=None, failing_since=None
    )
    _record(Action.WEBHOOK_SWITCHED_ON, now, by.get_username())
    return now.disabled_at


@transaction.atomic
def switch_off(endpoint: Endpoint, *, by: User | None = None, reason: str = "") -> None:
    """Stops all deliveries to an endpoint; none is added until it is switched on again.

    Does nothing if it is switched off or deleted already.

    Args:
        by: the user; None for the service, which then e-mails the workspace's admins.
        reason: why the service does it, after "because": "its server answered 410".
    """
    locked = Endpoint.objects.select_for_update(of=("self",), no_key=True)
    now = locked.existing().select_related("workspace").filter(pk=endpoint.pk).first()
    if now is None or not now.enabled:
        return
    Endpoint.objects.filter(pk=now.pk).update(
        enabled=False, disabled_reason=reason[:200], disabled_at=timezone.now()
    )
    person = by.get_username() if by else actor()
    _record(Action.WEBHOOK_SWITCHED_OFF, now, person, reason)
    if by is None:
        transaction.on_commit(lambda: _tell_admins(now, reason), robust=True)


def _tell_admins(endpoint: Endpoint, reason: str) -> None:
    if not mail.available():
        return
    context = {
        "workspace": endpoint.workspace.name,
        "url": endpoint.public_url,
        "reason": reason,
    }
    admins = Membership.objects.admins().filter(workspace=endpoint.workspace)
    for admin in admins.select_related("user"):
        if to := address_of(admin.user):
            mail.send("A webhook was switched off", "webhooks/off_email.txt", context, to)


@transaction.atomic
def roll_secret(endpoint: Endpoint, *, by: User) -> str:
    """Replaces the secret. For 24 hours, deliveries have a signature of each of the two.

    Returns:
        The new raw secret.

    Raises:
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _locked(endpoint)
    raw = secrets.new()
    Endpoint.objects.filter(pk=now.pk).update(
        secret=secrets.encrypt(raw),
        previous_secret=now.secret,
        previous_secret_until=timezone.now() + BOTH_SECRETS,
    )
    _record(Action.WEBHOOK_SECRET_ROLLED, now, by.get_username())
    return raw


@transaction.atomic
def delete(endpoint: Endpoint, *, by: User) -> None:
    """Stops an endpoint for good and wipes its secrets; its deliveries stay for 30 days.

    Raises:
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _locked(endpoint)
    Endpoint.objects.filter(pk=now.pk).update(
        deleted_at=timezone.now(), secret="", previous_secret="", previous_secret_until=None
    )
    _record(Action.WEBHOOK_DELETED, now, by.get_username())


@transaction.atomic
def send_test_event(endpoint: Endpoint, *, by: User) -> None:
    """Adds a delivery of a test event.

    Raises:
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _existing(endpoint)
    queue.add_test_event(now)
    _record(Action.WEBHOOK_TEST_SENT, now, by.get_username())


@transaction.atomic
def send_again(delivery: Delivery, *, by: User) -> None:
    """Sends a delivery once more, whatever became of it.

    Raises:
        Endpoint.DoesNotExist: the endpoint was deleted.
    """
    now = _existing(delivery.endpoint)
    queue.send_again(now.deliveries.filter(pk=delivery.pk))
    _record(Action.WEBHOOK_SENT_AGAIN, now, by.get_username(), delivery.public_event_id)


@transaction.atomic
def send_failed_again(endpoint: Endpoint, *, by: User) -> int:
    """Sends once more what has failed: also what waits for its next attempt, at most 10,000.

    Returns:
        How many.

    Raises:
        Endpoint.DoesNotExist: it was deleted.
    """
    now = _existing(endpoint)
    failing = now.deliveries.filter(FAILING).values("pk")[:MOST_AGAIN]
    count = queue.send_again(now.deliveries.filter(pk__in=failing))
    if count:
        what = f"{count:,} failed {'delivery' if count == 1 else 'deliveries'}"
        _record(Action.WEBHOOK_SENT_AGAIN, now, by.get_username(), what)
    return count


def _record(action: Action, endpoint: Endpoint, by: str, what: str = "") -> None:
    """Adds an entry that names the endpoint; its query may have a token, and is left out."""
    named = f"{endpoint.public_url} ({endpoint.pk})"
    detail = f"{named}: {what}" if what else named
    record(action, by=by, workspace=endpoint.workspace.snapshot(), detail=detail)


def _existing(endpoint: Endpoint) -> Endpoint:
    return Endpoint.objects.existing().select_related("workspace").get(pk=endpoint.pk)


def _locked(endpoint: Endpoint) -> Endpoint:
    locked = Endpoint.objects.select_for_update(of=("self",), no_key=True)
    return locked.existing().select_related("workspace").get(pk=endpoint.pk)
