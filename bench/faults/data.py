"""The requests of the load, with their right bodies: of two workspaces, Acme and its neighbour."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import httpx

from bench.client import Request
from bench.faults.verdict import ENDPOINTS, READS
from bench.loading import FAULTS, Workspace, content, identifier, workspaces
from bench.traffic import Disagreement, Target, body, wire
from config.dev.service import HOST

STEADY_KEYS = 8  # of each workspace, which the steady load uses
LARGE_EVERY = 40  # turns; in one of them, Acme's large file is downloaded

Tenant = dict[str, list[list[Request]]]  # endpoint → key → each document


def _turns(tenants: Sequence[Tenant], endpoints: Sequence[str], keys: int) -> Iterator[Request]:
    """The endpoints in turn, of the tenants and with so many keys of each in turn."""
    for turn in itertools.count():
        tenant, key = tenants[turn % len(tenants)], turn // len(tenants) % keys
        for endpoint in endpoints:
            large = endpoint == "download" and turn % LARGE_EVERY == LARGE_EVERY // 4
            requests = tenant["large" if large else endpoint][key]
            yield requests[turn * 7 % len(requests)]


@dataclass(frozen=True)
class Data:
    """The requests of both workspaces; only Acme has a large file."""

    acme: Tenant
    umbrella: Tenant

    def mixed(self, keys: int = STEADY_KEYS) -> Iterator[Request]:
        """`/me`, list, detail, download in turn, of both workspaces, with so many keys of each."""
        return _turns((self.acme, self.umbrella), ENDPOINTS, keys)

    def reads(self, *tenants: Tenant) -> Iterator[Request]:
        """`/me`, list and detail in turn, with all keys."""
        return _turns(tenants, READS, FAULTS.keys)

    def neighbour(self) -> Iterator[Request]:
        """`/me` and list in turn, of the second workspace."""
        return _turns((self.umbrella,), ("me", "list"), STEADY_KEYS)


def learn(port: int) -> Data:
    """Requests everything once, while all is healthy; the files are those that were loaded.

    Raises:
        Disagreement: a response is not right.
    """
    with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
        return Data(*(_learn(client, workspace) for workspace in workspaces(FAULTS)))


def _learn(client: httpx.Client, workspace: Workspace) -> Tenant:
    def learned(endpoint: str, path: str, *ids: str) -> Target:
        found = body(client, workspace, f"/api/v1/{path}")
        if not all(each.encode() in found for each in ids):
            raise Disagreement(f"{path}: {found[:200]!r}")
        return Target(endpoint, workspace, f"/api/v1/{path}", found)

    def with_keys(*targets: Target) -> list[list[Request]]:
        return [[target.request(key) for target in targets] for key in workspace.keys]

    numbers = range(workspace.first, workspace.first + workspace.documents)
    ids = [identifier("document", number) for number in numbers]
    hashes = [hashlib.sha256(content(FAULTS, number)).hexdigest() for number in numbers]
    files = [
        (f"/api/v1/documents/{each}/download?type=original", h)
        for each, h in zip(ids, hashes, strict=True)
    ]
    downloads = [
        [Request("download", wire(path, key), sha256) for path, sha256 in files]
        for key in workspace.keys
    ]
    large = int(workspace.number == 0)  # its newest document
    return {
        "me": with_keys(learned("me", "me", workspace.id)),
        "list": with_keys(learned("list", "documents?limit=25", *ids[:25])),
        "detail": with_keys(*(learned("detail", f"documents/{each}", each) for each in ids)),
        "download": [requests[large:] for requests in downloads],
        "large": [requests[:large] for requests in downloads],
    }
