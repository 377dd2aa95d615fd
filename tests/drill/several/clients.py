"""Who uses the service meanwhile: clients of the API, a consumer of events, the signing service."""

import random
import ssl
import threading
from contextlib import suppress
from typing import Any

import httpx
import psycopg

from bench.client import Client, Request
from bench.faults.node import ENDPOINTS, STEADY_KEYS
from bench.loading import Scale, workspaces
from bench.traffic import body, target
from tests.drill.several.machines import CLIENTS, FOLDER, NETWORK, OWNER_URL, address

HOST = "api.example.com"
# Two customers whose documents are read, and one whose documents change.
SCALE = Scale("several", 33, 2, 32, keys=50, keys_each=50, uploaded=32, large_file=100_000)
CHANGES = 4  # of documents, a second
CHANGE = """
    UPDATE documents_document SET status = %(status)s WHERE id = (
        SELECT id FROM documents_document
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
            AND status = ANY(%(statuses)s) AND status <> %(status)s
        ORDER BY random() LIMIT 1
    ) RETURNING pg_current_xact_id()::text::bigint
"""


def trust() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(FOLDER / "certificate.pem"))


def http_client(**options: Any) -> httpx.Client:
    return httpx.Client(base_url=f"https://{HOST}", verify=trust(), timeout=40, **options)


def clients() -> Client:
    """Of the balancer, from other machines."""

    def address_of(number: int) -> str:
        return f"{NETWORK}{100 + number % CLIENTS}"

    return Client(443, address("balancer"), address_of, ssl=trust(), server_hostname=HOST)


def requests() -> list[Request]:
    """Of several keys, with the right bodies: all is healthy now."""
    tenants = workspaces(SCALE)[:2]
    targets = [target(endpoint, tenant) for tenant in tenants for endpoint in ENDPOINTS]
    with http_client() as client:
        known = [each._replace(body=body(client, each.workspace, each.path)) for each in targets]
    keys = range(STEADY_KEYS)
    return [each.request(each.workspace.keys[key]) for key in keys for each in known]


class Consumer(threading.Thread):
    """Follows the feed of events from now on."""

    def __init__(self, end: threading.Event) -> None:
        super().__init__(daemon=True)
        key = workspaces(SCALE)[2].keys[0].raw
        self._client = http_client(headers={"Authorization": f"Bearer {key}"})
        self._end = end
        self.events, self.refused = list[str](), list[str]()
        self._after = self._get("now")["nextCursor"]

    def _get(self, after: str) -> Any:
        response = self._client.get(f"/api/v1/events?limit=100&after={after}")
        if response.status_code not in (200, 503):
            self.refused.append(response.text)
        return response.raise_for_status().json()

    def run(self) -> None:
        while not self._end.wait(0.5):
            with suppress(httpx.HTTPError):
                page = self._get(self._after)
                self.events += [event["id"].removeprefix("evt_") for event in page["data"]]
                self._after = page["nextCursor"]


class SigningService(threading.Thread):
    """Changes documents, and remembers the transactions whose COMMIT was acknowledged."""

    def __init__(self, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._end, self.transactions = end, list[int]()

    def run(self) -> None:
        while not self._end.wait(0.5):
            with suppress(psycopg.Error), psycopg.connect(OWNER_URL) as connection:
                while not self._end.wait(1 / CHANGES):
                    self._change(connection)

    def _change(self, connection: psycopg.Connection) -> None:
        statuses = ["SENT", "VIEWED", "CANCELLED", "EXPIRED", "DECLINED"]
        values = {"status": random.choice(statuses), "statuses": statuses}
        values |= {"workspace": workspaces(SCALE)[2].id}
        found = connection.execute(CHANGE, values).fetchall()
        connection.commit()
        self.transactions += [transaction for (transaction,) in found]
