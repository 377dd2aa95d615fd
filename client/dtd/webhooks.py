"""Webhooks: checks that the service has sent one, and reads it."""

import json
from collections.abc import Mapping

from dtd.errors import InvalidSignature
from dtd.models import Event


def unwrap(body: bytes, headers: Mapping[str, str], secret: str) -> Event:
    """The event of a webhook. It arrives at least once: ignore an `id` that you know.

    ```python
    event = dtd.webhooks.unwrap(request.body, request.headers, secret)
    if event.type == "document.completed":
        queue.add(event.data.id)  # and respond with a 2xx
    ```

    Args:
        body: the bytes that arrived.
        headers: those of the request; their names may be in any case.
        secret: the endpoint's secret, whsec_….

    Raises:
        InvalidSignature: Do not believe it; respond with a 401.
        InvalidResponse: It is signed, but is no event.
        ImportError: The package standardwebhooks is missing: pip install standardwebhooks
    """
    from standardwebhooks import Webhook, WebhookVerificationError

    try:
        Webhook(secret).verify(body, dict(headers), json_parse=False)
    except (WebhookVerificationError, ValueError) as exc:
        raise InvalidSignature(f"The webhook is not signed with this secret: {exc}.") from exc
    return Event.parse(json.loads(body))
