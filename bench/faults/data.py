"""The requests of the load, with their right bodies: of two workspaces, Acme and its neighbour."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from bench.agreement import Disagreement, body
from bench.client import Request
from bench.loading import Workspace, workspaces
from bench.scale import FAULTS
from bench.stack import Stack
from bench.traffic import Target, wire
from config.embedded.service import HOST

SMALL = FAULTS.documents_each  # documents of each workspace; the first one also has a large one
KEYS = FAULTS.keys  # of each workspace
STEADY_KEYS = 8  # of each workspace, which the steady load uses
DOCUMENTS = "/api/v1/documents"
LARGE_EVERY = 40  # downloads; one of them is the large file
FILES = """
    SELECT document.id::text, sha256, size = %s FROM documents_document document
    JOIN documents_storedfile file ON file.id = coalesce(signed_id, original_id)
    WHERE workspace_id = %s ORDER BY document.created_at DESC, document.id DESC
"""


@dataclass(frozen=True)
class Tenant:
    """The requests of a workspace, with each of its keys."""

    me: list[Request]
    lists: list[Request]
    details: list[list[Request]]
    downloads: list[list[Request]]
    large: list[Request]  # downloads; the neighbour has no large file


@dataclass(frozen=True)
class Data:
    """The requests of both workspaces."""

    acme: Tenant
    umbrella: Tenant

    def mixed(self, keys: int = STEADY_KEYS) -> Iterator[Request]:
        """`/me`, list, detail, download in turn, with so many keys of each workspace in turn."""
        tenants = (self.acme, self.umbrella)
        for turn in itertools.count():
            tenant, key = tenants[turn % 2], turn // 2 % keys
            document = turn * 7 % SMALL
            yield tenant.me[key]
            yield tenant.lists[key]
            yield tenant.details[key][document]
            if turn % LARGE_EVERY == LARGE_EVERY // 4:
                yield self.acme.large[key]
            else:
                yield tenant.downloads[key][document]

    def reads(self, *tenants: Tenant) -> Iterator[Request]:
        """`/me`, list and detail in turn, with all keys."""
        for turn in itertools.count():
            tenant, key = tenants[turn % len(tenants)], turn // len(tenants) % KEYS
            yield tenant.me[key]
            yield tenant.lists[key]
            yield tenant.details[key][turn * 7 % SMALL]

    def neighbour(self) -> Iterator[Request]:
        """`/me` and list in turn, of the second workspace."""
        for turn in itertools.count():
            key = turn % STEADY_KEYS
            yield self.umbrella.me[key]
            yield self.umbrella.lists[key]


def learn(stack: Stack, port: int) -> Data:
    """Requests everything once, while all is healthy; the files' hashes are those in the database.

    Raises:
        Disagreement: a response is not right.
    """
    with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
        acme, umbrella = (_learn(stack, client, each) for each in workspaces(FAULTS))
    return Data(acme, umbrella)


def _learn(stack: Stack, client: httpx.Client, workspace: Workspace) -> Tenant:
    def learned(endpoint: str, path: str, *ids: str) -> Target:
        found = body(client, workspace, path)
        if not all(each.encode() in found for each in ids):
            raise Disagreement(f"{path}: {found[:200]!r}")
        return Target(endpoint, workspace, path, found)

    with stack.connect() as connection:
        rows = connection.execute(FILES, [FAULTS.large_file, workspace.id]).fetchall()
    me = learned("me", "/api/v1/me", workspace.id)
    listed = learned("list", f"{DOCUMENTS}?limit=25", *(document for document, *_ in rows[:25]))
    small = [document for document, _, large in rows if not large]
    details = [learned("detail", f"{DOCUMENTS}/{document}", document) for document in small]

    def downloads(large: bool) -> list[list[Request]]:
        files = [
            (f"{DOCUMENTS}/{document}/download", sha256)
            for document, sha256, is_large in rows
            if is_large == large
        ]
        return [
            [Request("download", wire(path, key), sha256) for path, sha256 in files]
            for key in workspace.keys
        ]

    return Tenant(
        [me.request(key) for key in workspace.keys],
        [listed.request(key) for key in workspace.keys],
        [[each.request(key) for each in details] for key in workspace.keys],
        downloads(large=False),
        [request for requests in downloads(large=True) for request in requests],
    )
