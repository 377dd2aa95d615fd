"""`dtd watch` and `dtd listen`: events as they come."""

import json
import os
import secrets
import time
from argparse import Namespace
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime

from dtd.client import Client, trusted
from dtd.command.output import as_json, log
from dtd.errors import printable
from dtd.models import Event

POLL = 5  # seconds
DELAYS = (5, 5, 0)  # seconds before the second and the third attempt of an event; then it is lost


def events(client: Client, options: Namespace) -> Iterator[Event]:
    """Polls the events for ever."""
    found = client.events(after=options.after, type=options.type)
    while True:
        yield from found
        time.sleep(POLL)


def watch(client: Client, options: Namespace) -> None:
    """Print events as they come.

    example: dtd watch --type document.completed
    """
    for event in events(client, options):
        line = f"{event.raw['timestamp'][:19]}  {event.type:<26}  {event.data.id}"
        print(as_json(event.raw) if options.json else printable(line), flush=True)


def listen(client: Client, options: Namespace) -> None:
    """Forward events to a URL, signed like webhooks.

    example: dtd listen --forward http://localhost:3000/hook
    """
    import httpx
    from standardwebhooks import Webhook

    secret = os.environ.get("DTD_WEBHOOK_SECRET", "")
    if not secret:
        secret = f"whsec_{b64encode(secrets.token_bytes(24)).decode()}"
        log(f"Verify with this secret, or set DTD_WEBHOOK_SECRET to your own: {secret}")
    # Without a proxy: it is an address on this machine.
    http = httpx.Client(verify=trusted(options.ca_file), timeout=15, trust_env=False)
    log(f"Forwarding events to {options.forward}; stop with Ctrl-C.")
    for event in events(client, options):
        body = json.dumps(event.raw, ensure_ascii=False, separators=(",", ":"))
        for delay in DELAYS:
            now = datetime.now(UTC)
            headers = {
                "Content-Type": "application/json",
                "webhook-id": event.id,
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": Webhook(secret).sign(event.id, now, body),
            }
            try:
                response = http.post(options.forward, content=body, headers=headers)
                result, is_received = str(response.status_code), response.is_success
            except (httpx.HTTPError, httpx.InvalidURL) as exc:
                result, is_received = f"{type(exc).__name__}: {exc}", False
            print(printable(f"{event.type} {event.data.id}: {result}"), flush=True)
            if is_received:
                break
            time.sleep(delay)
