"""The API's objects for events: the only definition of their fields.

Responses and webhooks are encoded from these structs, and the OpenAPI document's schemas are
generated from them (`config.api.schema.structs`).
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from events.models import EventType, public_id

MEANINGS = {
    EventType.CREATED: "the document is new in the workspace.",
    EventType.SENT: "it was sent to its recipients.",
    EventType.VIEWED: "a recipient has viewed it.",
    EventType.PARTIALLY_SIGNED: "the first recipient has signed or approved it.",
    EventType.COMPLETED: "everyone has finished; the signed PDF and the certificate exist.",
    EventType.DECLINED: "a recipient has declined.",
    EventType.EXPIRED: "it was not finished by everyone in time.",
    EventType.CANCELLED: "it was called off.",
    EventType.DELETED: "the document was deleted.",
}


class EventData(Struct, gc=False):
    """The document that an event is about."""

    id: Annotated[
        str,
        Meta(
            description="The document's identifier. Only this field will stay in every event.",
            extra_json_schema={"format": "uuid"},
        ),
    ]
    status: Annotated[
        str,
        Meta(
            description="The document's status right after the event. It may have changed since: "
            "read the document."
        ),
    ]


class DocumentEvent(Struct, gc=False):
    """One thing that happened to a document. It never changes."""

    id: Annotated[
        str,
        Meta(
            description="The event's identifier, the same in the feed and in each webhook.",
            extra_json_schema={"pattern": "^evt_[0-9a-f]{32}$"},
        ),
    ]
    type: Annotated[
        str,
        Meta(
            description="What happened. Ignore types that you do not know: more may come.\n\n"
            + "\n".join(f"- `{type.value}`: {text}" for type, text in MEANINGS.items())
        ),
    ]
    timestamp: Annotated[datetime, Meta(tz=True, description="When it happened.")]
    data: EventData


class EventPage(Struct, rename="camel", gc=False):
    """The response of GET /events: one page, oldest first."""

    data: list[DocumentEvent]
    next_cursor: Annotated[
        str,
        Meta(
            description="Pass it as `after` for the events that follow. It is always there, also "
            "when no event is new."
        ),
    ]


def event(
    uuid: UUID, type: str, occurred_at: datetime, document_id: str, status: str
) -> DocumentEvent:
    """The object of an event."""
    return DocumentEvent(public_id(uuid), type, occurred_at, EventData(document_id, status))
