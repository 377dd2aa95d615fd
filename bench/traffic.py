"""The requests that are sent: which endpoint, of which workspace, with which key."""

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import psycopg

from bench.client import Exchange
from bench.loading.identity import Key, Workspace
from config.embedded.service import HOST

USES = 200  # requests with one key in one measurement: below the limit of 300 a minute
AT_A_TIME = 20  # keys that are used in turn before the next ones are


@dataclass(frozen=True)
class Endpoint:
    """One kind of request; `{document}` in its path is an id of one of the workspace's."""

    title: str
    path: str


ENDPOINTS = {
    "list25": Endpoint("list, limit 25", "/api/v1/documents?limit=25"),
    "list100": Endpoint("list, limit 100", "/api/v1/documents?limit=100"),
    "detail": Endpoint("detail", "/api/v1/documents/{document}"),
    "me": Endpoint("me", "/api/v1/me"),
}


def wire(path: str, authorization: str) -> bytes:
    """A request as it is sent; `authorization` is one header."""
    return (
        f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{authorization}\r\n"
        "Accept: application/json\r\nUser-Agent: bench\r\n\r\n"
    ).encode()


@dataclass(frozen=True)
class Target:
    """One path of one workspace, and the body of its response."""

    workspace: Workspace
    path: str
    body: bytes | None = None  # for the first of the workspace's keys; None before it is known

    def exchange(self, key: Key) -> Exchange:
        """The request with a key of the workspace; only the response of `/me` names the key."""
        body, first = self.body, self.workspace.keys[0]
        if body is not None:
            body = body.replace(first.id.encode(), key.id.encode())
            body = body.replace(f'"{first.name}"'.encode(), f'"{key.name}"'.encode())
        return Exchange(wire(self.path, f"Authorization: Bearer {key.raw}"), body)


def targets(
    connection: psycopg.Connection, endpoint: Endpoint, workspaces: Sequence[Workspace]
) -> list[Target]:
    """The endpoint in each of the workspaces; of each another document."""
    found = []
    for workspace in workspaces:
        [[document]] = connection.execute(
            "SELECT id FROM documents_document WHERE workspace_id = %s AND deleted_at IS NULL"
            " ORDER BY created_at DESC, id DESC OFFSET %s LIMIT 1",
            [workspace.id, workspace.number * 37 % min(workspace.documents, 1000)],
        )
        found.append(Target(workspace, endpoint.path.format(document=document)))
    return found


def endless(targets: Sequence[Target]) -> Iterator[Exchange]:
    """Requests without end: some keys in turn, as often as the rate limit allows, then others.

    Neighbours are of different workspaces if there are several.
    """
    most = max(len(target.workspace.keys) for target in targets)
    pairs = [
        target.exchange(target.workspace.keys[which])
        for which in range(most)
        for target in targets
        if which < len(target.workspace.keys)
    ]
    for start in itertools.cycle(range(0, len(pairs), AT_A_TIME)):
        some = pairs[start : start + AT_A_TIME]
        for _ in range(USES):
            yield from some


def pages(get: Callable[[str], bytes]) -> Iterator[Any]:
    """All pages of a workspace's documents; `get` returns the body of a path."""
    cursor: dict[str, str] | None = {}
    while cursor is not None:
        page = json.loads(get(f"/api/v1/documents?{urlencode({'limit': 100, **cursor})}"))
        yield page
        cursor = page["nextCursor"] and {"cursor": page["nextCursor"]}
