"""Responses and webhooks are encoded from these structs; the OpenAPI document describes them."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from events.models import public_id


class EventData(Struct, gc=False):
    id: str  # of the document
    status: str  # right after the event


class DocumentEvent(Struct, gc=False):
    id: str
    type: str
    timestamp: datetime
    data: EventData


class EventPage(Struct, rename="camel", gc=False):
    data: list[DocumentEvent]  # oldest first
    next_cursor: str  # also when no event is new


def event_of(row: Any) -> DocumentEvent:
    """The event of a row of the feed, or of a delivery, which has a copy of it."""
    data = EventData(str(row.document_id), row.status)
    return DocumentEvent(public_id(row.event_id), row.type, row.occurred_at, data)
