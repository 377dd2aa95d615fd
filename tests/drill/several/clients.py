"""Who uses the service meanwhile: clients of the API, a consumer of events, the signing service."""

import http.client
import itertools
import json
import random
import ssl
import threading
import time
from contextlib import suppress
from typing import NamedTuple

import psycopg

from bench.loading import FAULTS, Workspace, identifier, workspaces
from tests.drill.several.machines import FOLDER, NETWORK, OWNER_URL

HOST = "api.example.com"
TIMEOUT = 40.0  # seconds until a client gives up
CHANGES = 4  # of documents, a second
PATHS = ("/me", "/documents?limit=25", "/documents/{}", "/documents/{}/download?type=original")
CHANGE = """
    UPDATE documents_document SET status = %(status)s WHERE id = (
        SELECT id FROM documents_document
        WHERE workspace_id = %(workspace)s AND deleted_at IS NULL
            AND status = ANY(%(statuses)s) AND status <> %(status)s
        ORDER BY random() LIMIT 1
    ) RETURNING pg_current_xact_id()::text::bigint
"""


def acme() -> Workspace:
    """The customer whose documents are read."""
    return workspaces(FAULTS)[0]


def umbrella() -> Workspace:
    """The customer whose documents change."""
    return workspaces(FAULTS)[1]


class Response(NamedTuple):
    path: str
    sent: float  # on the monotonic clock
    seconds: float
    status: int  # 0 if there is none
    polite: bool  # a 503 in JSON with Retry-After
    request_id: str
    body: bytes
    right: bool

    @property
    def ended(self) -> float:
        return self.sent + self.seconds

    def __str__(self) -> str:
        return f"{self.path}: {self.status} after {self.seconds:.1f} s, {self.body[:80]!r}"


class Client:
    """It has an address, a key and a connection of its own."""

    def __init__(self, number: int, workspace: Workspace) -> None:
        key = workspace.keys[number % len(workspace.keys)].raw
        self._headers = {"Authorization": f"Bearer {key}"}
        trust = ssl.create_default_context(cafile=str(FOLDER / "certificate.pem"))
        self._connection = http.client.HTTPSConnection(
            HOST, context=trust, timeout=TIMEOUT, source_address=(f"{NETWORK}{100 + number}", 0)
        )

    def get(self, path: str, right: bytes | None = None) -> Response:
        """The response; without `right`, each 200 has the right body."""
        sent, status, headers = time.monotonic(), 0, http.client.HTTPMessage()
        try:
            self._connection.request("GET", f"/api/v1{path}", headers=self._headers)
            response = self._connection.getresponse()
            headers, body, status = response.headers, response.read(), response.status
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            body, status = repr(error).encode(), 0
        is_json = headers.get_content_type() == "application/json"
        polite = status == 503 and is_json and headers.get("Retry-After", "").isdigit()
        is_right = status == 200 and right in (None, body)
        id, seconds = headers.get("Request-Id", ""), time.monotonic() - sent
        return Response(path, sent, seconds, status, polite, id, body, is_right)


class Load(threading.Thread):
    """A client that requests the same few things in turn, one a second."""

    def __init__(self, number: int, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._client, self._end = Client(number, acme()), end
        document = identifier("document", acme().first + number + 1)
        paths = [path.format(document) for path in PATHS]
        self._right = {path: self._client.get(path).body for path in paths}
        self.responses: list[Response] = []

    def run(self) -> None:
        due = time.monotonic() + random.random()
        for path, right in itertools.cycle(self._right.items()):
            if self._end.wait(max(0.0, due - time.monotonic())):
                break
            self.responses.append(self._client.get(path, right))
            due = max(due + 1, time.monotonic())


class Consumer(threading.Thread):
    """Follows the feed of events from now on."""

    def __init__(self, number: int, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._client, self._end = Client(number, umbrella()), end
        self._after = json.loads(self._client.get("/events?after=now").body)["nextCursor"]
        self.events: list[str] = []
        self.refused: list[str] = []

    def run(self) -> None:
        while not self._end.wait(0.5):
            response = self._client.get(f"/events?limit=100&after={self._after}")
            if response.right:
                page = json.loads(response.body)
                self.events += [event["id"].removeprefix("evt_") for event in page["data"]]
                self._after = page["nextCursor"]
            elif not response.polite:
                self.refused.append(str(response))


class SigningService(threading.Thread):
    """Changes documents, and remembers the transactions whose COMMIT was acknowledged."""

    def __init__(self, end: threading.Event) -> None:
        super().__init__(daemon=True)
        self._end, self.transactions = end, list[int]()

    def run(self) -> None:
        while not self._end.wait(0.5):
            with suppress(psycopg.Error), psycopg.connect(OWNER_URL) as each:
                while not self._end.wait(1 / CHANGES):
                    self._change(each)

    def _change(self, connection: psycopg.Connection) -> None:
        statuses = ["SENT", "VIEWED", "CANCELLED", "EXPIRED", "DECLINED"]
        values = {"status": random.choice(statuses), "statuses": statuses}
        found = connection.execute(CHANGE, {**values, "workspace": umbrella().id}).fetchall()
        connection.commit()
        self.transactions += [transaction for (transaction,) in found]
