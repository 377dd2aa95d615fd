"""The OpenAPI operation of the feed of events."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    extend_schema,
    extend_schema_serializer,
)

from config.api import errors
from config.api.parameters import LIMIT_EXPECTED
from config.api.schema.headers import JSON_HEADERS, LINK
from config.api.schema.operations import IF_NONE_MATCH, json_responses, limit, query
from events.feed import EXPECTED, LEAST, NOW
from events.models import KEEP_DAYS, EventType
from events.serializers import EventPage

extend_schema_serializer(many=False)(EventPage)  # the page itself, not an array of pages

EVENT: dict[str, Any] = {
    "id": "evt_5f0c1d3a9b6e4c7f8a2d0e1b3c5f7a99",
    "type": EventType.COMPLETED.value,
    "timestamp": "2026-03-02T08:15:03.120000Z",
    "data": {"id": "0f8b6c0e-3f5e-4c57-9f0a-6d1f0c2b9a11", "status": "COMPLETED"},
}
CURSOR = "AAAAAAAAAxoAAAAAAAACnAAGTApz1QAAAAAAAA==.Zr3kq0Vt6b1mB5cYp0Yx2gQ7sLw9nHjKdTfEuXoAaIc"

list_events = extend_schema(
    operation_id="list_events",
    summary="List events",
    description=f"""Lists what happened to the documents of the key's workspace, oldest first.

A copy of the workspace's documents stays complete in three steps:

1. Keep the `nextCursor` of a request with `after={NOW}`.
2. Page through `GET /api/v1/documents` once.
3. Then, as often as you like, request the events `after` the cursor you kept, read each event's
   document again, and keep the new `nextCursor`. An event may arrive for a document that you have
   already read in step 2.

No event is skipped and none is shown twice, whatever happens at the same time. The events of one
document are in the order in which they happened. A page with fewer than `limit` events is the last
one for now; as long as nothing is new, its `nextCursor` and `ETag` stay the same.

A document that is not found any more (404 with the `Error-Code` `document_not_found`) was deleted:
delete your copy. A restored one is created again. What does not change the status is no event: a
second signature, or another title.

Events are kept for {KEEP_DAYS} days, and a cursor works for {KEEP_DAYS} days after the last event
before it. One that a response has just returned works for a day at least, unless the cursor of that
request was itself that old. After a 410, start again with step 1.

Webhooks send the same objects to an address of yours as soon as they happen; a workspace admin
registers it in the developer settings.""",
    tags=["Events"],
    parameters=[
        query(
            "after",
            {"type": "string", "minLength": 1},
            f"The `nextCursor` of an earlier response. Without it, the list begins with the events "
            f"of {KEEP_DAYS - LEAST.days} days ago. `{NOW}` returns no events, and the "
            f"cursor of those to come; a few of the last seconds may be among them.",
        ),
        query(
            "type",
            {"type": "string", "enum": EventType.values},
            "Only events of this type.",
        ),
        limit("events"),
        IF_NONE_MATCH,
        *JSON_HEADERS,
        LINK,
    ],
    responses=json_responses(
        EventPage,
        "One page of events.",
        [
            OpenApiExample("Page", {"data": [EVENT], "nextCursor": CURSOR}),
            OpenApiExample("Nothing new", {"data": [], "nextCursor": CURSOR}),
        ],
        errors.InvalidParameter("after", EXPECTED),
        errors.InvalidParameter("type", f"one of {', '.join(EventType.values)}"),
        errors.InvalidParameter("limit", LIMIT_EXPECTED),
        errors.CursorExpired(),
    ),
)
