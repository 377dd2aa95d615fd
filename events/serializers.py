"""The API's objects for events; responses and webhooks are encoded from these structs.

The OpenAPI document describes the fields.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from events.models import public_id


class EventData(Struct, gc=False):
    """A document's id, and its status right after the event."""

    id: str
    status: str


class DocumentEvent(Struct, gc=False):
    """One thing that happened to a document. It never changes."""

    id: str
    type: str
    timestamp: datetime
    data: EventData


class EventPage(Struct, rename="camel", gc=False):
    """The response of GET /events: one page, oldest first."""

    data: list[DocumentEvent]
    next_cursor: str  # also when no event is new


def event(
    uuid: UUID, type: str, occurred_at: datetime, document_id: str, status: str
) -> DocumentEvent:
    return DocumentEvent(public_id(uuid), type, occurred_at, EventData(document_id, status))


def event_of(delivery: Any) -> DocumentEvent:
    """The event that a delivery has a copy of."""
    return event(
        delivery.event_id,
        delivery.type,
        delivery.occurred_at,
        str(delivery.document_id),
        delivery.status,
    )
