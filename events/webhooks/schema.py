"""The webhook in the OpenAPI document: what an endpoint receives, and how it should respond."""

from drf_spectacular.utils import OpenApiWebhook

from events.schema import EVENT
from events.webhooks.policy import ATTEMPT_SECONDS as SECONDS

SIGNATURE = (
    "`v1,` and the base64 of an HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`; its key "
    "is the base64 in the secret, after `whsec_`. Two, with a space in between, for 24 hours after "
    "the secret was rolled."
)
HEADERS = {
    "webhook-id": ("The event's id, the same in each attempt.", {"pattern": "^evt_[0-9a-f]{32}$"}),
    "webhook-timestamp": (
        "When this attempt was made: seconds since 1970. Refuse one that is more than five minutes "
        "old: somebody may send an old request again.",
        {"pattern": "^[0-9]{10}$"},
    ),
    "webhook-signature": (
        SIGNATURE,
        {"pattern": "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$"},
    ),
}

document_event = OpenApiWebhook(
    "document.*",
    {
        "post": {
            "operationId": "receive_document_event",
            "summary": "An event, sent to your endpoint",
            "description": "The service sends each event of the types that an endpoint was "
            "registered for, at least once. The introduction says how to verify it.",
            "tags": ["Webhooks"],  # its own: a generated client has a file for each tag
            "security": [],
            "parameters": [
                {
                    "in": "header",
                    "name": name,
                    "required": True,
                    "description": text,
                    "schema": {"type": "string", **schema},
                }
                for name, (text, schema) in HEADERS.items()
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"$ref": "#/components/schemas/DocumentEvent"},
                        "examples": {"Completed": {"value": EVENT}},
                    }
                },
            },
            "responses": {
                "2XX": {
                    "description": "The event is yours now, whatever the body says. Store it "
                    f"first, respond within {SECONDS:.0f} seconds, and work on it afterwards."
                },
                "410": {"description": "Switches the endpoint off: it wants no more events."},
                "default": {
                    "description": "The event is sent again later, also after a redirect or "
                    "without a response. `Retry-After` counts with 429 and 503."
                },
            },
        }
    },
)
