"""The requests: which endpoint, of which workspace, with which key; a load, or a single one."""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import httpx

from bench.client import Request
from bench.loading import Key, Workspace, identifier
from config.dev.services import HOST

USES = 200  # requests with one key in one measurement: below the limit of 300 a minute
AT_A_TIME = 20  # keys that are used in turn before the next ones are

# `{document}` is an id of one of the workspace's.
LIST25, LIST100, DETAIL, ME = "list, limit 25", "list, limit 100", "detail", "me"
DOWNLOAD = "download"
PATHS = {
    LIST25: "/api/v1/documents?limit=25",
    LIST100: "/api/v1/documents?limit=100",
    DETAIL: "/api/v1/documents/{document}",
    ME: "/api/v1/me",
    DOWNLOAD: "/api/v1/documents/{document}/download?type=original",
}
ENDPOINTS = (LIST25, LIST100, DETAIL, ME)  # that are compared


class Disagreement(Exception):
    """Variants respond differently, or not with what is to be measured."""


def get(client: httpx.Client, path: str, raw_key: str) -> httpx.Response:
    return client.get(path, headers={"Authorization": f"Bearer {raw_key}"})


def body(client: httpx.Client, workspace: Workspace, path: str, request: int = 0) -> bytes:
    """The body of a path, which is a 200; each key of the workspace is used for some requests."""
    response = get(client, path, workspace.keys[request // USES].raw)
    if response.status_code != 200:
        raise Disagreement(f"{path}: {response.status_code} {response.text[:300]}")
    return response.content


class Target(NamedTuple):
    """One path of one workspace, and the body of its response for the first of its keys."""

    endpoint: str
    workspace: Workspace
    path: str
    body: bytes = b""

    def request(self, key: Key) -> Request:
        """The request with a key of the workspace; only the response of `/me` names the key."""
        wire = (
            f"GET {self.path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {key.raw}\r\n"
            "Accept: application/json\r\nUser-Agent: bench\r\n\r\n"
        )
        first = self.workspace.keys[0]
        body = self.body.replace(first.id.encode(), key.id.encode())
        body = body.replace(f'"{first.name}"'.encode(), f'"{key.name}"'.encode())
        return Request(self.endpoint, wire.encode(), hashlib.sha256(body).hexdigest())


def target(endpoint: str, workspace: Workspace) -> Target:
    """The endpoint in a workspace; in each another document, in the large one the newest."""
    number = workspace.first + workspace.number * 37 % min(workspace.documents, 1000)
    path = PATHS[endpoint].format(document=identifier("document", number))
    return Target(endpoint, workspace, path)


def endless(targets: Sequence[Target]) -> Iterator[Request]:
    """Requests without end: some keys in turn, as often as the rate limit allows, then others.

    Neighbours are of different workspaces if there are several.
    """
    fewest = min(len(target.workspace.keys) for target in targets)
    requests = [each.request(each.workspace.keys[n]) for n in range(fewest) for each in targets]
    for start in itertools.cycle(range(0, len(requests), AT_A_TIME)):
        some = requests[start : start + AT_A_TIME]
        for _ in range(USES):
            yield from some
