"""The requests that are sent: which endpoint, of which workspace, with which key."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psycopg

from bench.connection import Exchange
from bench.loading.identity import Key, Workspace
from config.embedded.service import HOST

USES = 200  # requests with one key in one measurement: below the limit of 300 a minute
AT_ONCE = 20  # keys that are used in turn before the next ones are


@dataclass(frozen=True)
class Endpoint:
    """One kind of request.

    Attributes:
        path: with `{document}` where an id of a document of the workspace stands.
    """

    name: str
    title: str
    path: str


ENDPOINTS = {
    endpoint.name: endpoint
    for endpoint in (
        Endpoint("list25", "list, limit 25", "/api/v1/documents?limit=25"),
        Endpoint("list100", "list, limit 100", "/api/v1/documents?limit=100"),
        Endpoint("detail", "detail", "/api/v1/documents/{document}"),
        Endpoint("me", "me", "/api/v1/me"),
    )
}


def wire(path: str, key: Key) -> bytes:
    """A request as it is sent."""
    return (
        f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key.raw}\r\n"
        "Accept: application/json\r\nUser-Agent: bench\r\n\r\n"
    ).encode()


@dataclass(frozen=True)
class Target:
    """What is asked of one workspace, and the body that answered it.

    Attributes:
        body: as it was for the first of the workspace's keys; None before it is known.
    """

    workspace: Workspace
    path: str
    body: bytes | None = None

    def exchange(self, key: Key) -> Exchange:
        """The request with a key of the workspace; only `/me` names the key in its answer."""
        if self.body is None:
            return Exchange(wire(self.path, key), None)
        first = self.workspace.keys[0]
        body = self.body.replace(first.id.encode(), key.id.encode())
        return Exchange(wire(self.path, key), body.replace(_quoted(first), _quoted(key)))


def _quoted(key: Key) -> bytes:
    return f'"{key.name}"'.encode()


def targets(
    endpoint: Endpoint, workspaces: Sequence[Workspace], documents: Mapping[int, str]
) -> list[Target]:
    """The endpoint in each of the workspaces; `documents` has one id of each, by number."""
    return [Target(w, endpoint.path.format(document=documents[w.number])) for w in workspaces]


def some_documents(
    connection: psycopg.Connection, workspaces: Sequence[Workspace]
) -> dict[int, str]:
    """One document's id of each workspace: another place in the order for each."""
    return {
        workspace.number: str(
            connection.execute(
                "SELECT id FROM documents_document WHERE workspace_id = %s AND deleted_at IS NULL"
                " ORDER BY created_at DESC, id DESC OFFSET %s LIMIT 1",
                [workspace.id, workspace.number * 37 % min(workspace.documents, 1000)],
            ).fetchone()[0]  # type: ignore[index]
        )
        for workspace in workspaces
    }


def endless(targets: Sequence[Target]) -> Iterator[Exchange]:
    """Requests without end: some keys in turn, as often as the rate limit lets them, then others.

    Neighbours are of different workspaces where there are several.
    """
    most = max(len(target.workspace.keys) for target in targets)
    pairs = [
        target.exchange(target.workspace.keys[which])
        for which in range(most)
        for target in targets
        if which < len(target.workspace.keys)
    ]
    for start in itertools.cycle(range(0, len(pairs), AT_ONCE)):
        some = pairs[start : start + AT_ONCE]
        for _ in range(USES):
            yield from some
