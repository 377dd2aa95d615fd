"""Endpoints of webhooks."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from audit.models import Action
from audit.record.snapshots import WorkspaceSnapshot
from audit.record.writing import write


@dataclass(frozen=True, kw_only=True)
class EndpointSnapshot(WorkspaceSnapshot):
    """An entry's copy of an endpoint: its address without the query, which may have a token."""

    endpoint_id: UUID
    endpoint_url: str


def webhook_created(*, endpoint: EndpointSnapshot, person: str, types: str) -> None:
    """A user created an endpoint for these types of events."""
    _write(Action.WEBHOOK_CREATED, endpoint, types, person=person)


def webhook_changed(*, endpoint: EndpointSnapshot, person: str, changes: str) -> None:
    """A user changed an endpoint, as `changes` says; `endpoint` is as it is now."""
    _write(Action.WEBHOOK_CHANGED, endpoint, changes, person=person)


def webhook_switched_on(*, endpoint: EndpointSnapshot, person: str) -> None:
    """A user switched an endpoint on."""
    _write(Action.WEBHOOK_SWITCHED_ON, endpoint, person=person)


def webhook_switched_off(*, endpoint: EndpointSnapshot, person: str, reason: str) -> None:
    """A user switched an endpoint off, or the service did.

    Args:
        person: who; for the service, its command.
        reason: why the service did; "" for a user.
    """
    _write(Action.WEBHOOK_SWITCHED_OFF, endpoint, reason, person=person)


def webhook_secret_rolled(*, endpoint: EndpointSnapshot, person: str) -> None:
    """A user replaced the secret of an endpoint."""
    _write(Action.WEBHOOK_SECRET_ROLLED, endpoint, person=person)


def webhook_deleted(*, endpoint: EndpointSnapshot, person: str) -> None:
    """A user deleted an endpoint."""
    _write(Action.WEBHOOK_DELETED, endpoint, person=person)


def webhook_test_sent(*, endpoint: EndpointSnapshot, person: str) -> None:
    """A user sent a test event to an endpoint."""
    _write(Action.WEBHOOK_TEST_SENT, endpoint, person=person)


def webhook_sent_again(*, endpoint: EndpointSnapshot, person: str, what: str) -> None:
    """A user sent deliveries of an endpoint again: `what` is an event's id, or how many."""
    _write(Action.WEBHOOK_SENT_AGAIN, endpoint, what, person=person)


def _write(action: Action, endpoint: EndpointSnapshot, detail: str = "", **facts: Any) -> None:
    named = f"{endpoint.endpoint_url} ({endpoint.endpoint_id})"
    write(
        action,
        workspace_id=endpoint.workspace_id,
        workspace_name=endpoint.workspace_name,
        detail=(f"{named}: {detail}" if detail else named)[:1000],
        **facts,
    )
