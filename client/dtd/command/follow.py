"""`dtd watch` and `dtd listen`: events as they come."""

import json
import os
import secrets
import shlex
import time
from argparse import Namespace
from base64 import b64encode
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime

from dtd.client import Client, trusted
from dtd.command.output import as_json, log
from dtd.errors import APIError, ConnectionFailed, Error, printable
from dtd.models import Event

POLL = 5  # seconds
DELAYS = (5, 5, 0)  # seconds before the second and the third attempt of an event; then it is lost


def events(client: Client, options: Namespace) -> Generator[Event, None, None]:
    """Polls the events for ever, also while the service is away. What the API refuses ends it."""
    found, has_worked = client.events(after=options.after, type=options.type), False
    try:
        while True:
            try:
                yield from found
                has_worked = True
            except Error as exc:
                # A hotel's network, for example, may respond with anything.
                may_pass = has_worked or isinstance(exc, APIError | ConnectionFailed)
                if exc.is_refusal or not may_pass:
                    raise
                log(f"{exc} Trying again.")
            time.sleep(POLL)
    finally:
        if found.cursor and found.cursor != "now":
            log(f"To go on from here: --after {shlex.quote(found.cursor)}")


def watch(client: Client, options: Namespace) -> None:
    """Print events as they come.

    example: dtd watch --type document.completed
    """
    with closing(events(client, options)) as found:
        for event in found:
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
    with closing(events(client, options)) as found:
        for event in found:
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
