"""Checks, before anything is measured, that all variants respond alike."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os.path import commonprefix
from urllib.parse import urlencode

import httpx

from bench.loading import Workspace
from bench.peers import REQUESTS_PER_MINUTE
from bench.servers import Server
from bench.stack import Stack
from bench.traffic import USES, Target


class Disagreement(Exception):
    """Variants respond differently, or not with what is to be measured."""


def comparable(body: bytes) -> str:
    """JSON whose fields, their order and values are to be equal; cursors may differ."""
    value = json.loads(body)
    if isinstance(value.get("nextCursor"), str):
        value["nextCursor"] = "a cursor"
    return json.dumps(value)


def get(client: httpx.Client, path: str, raw_key: str) -> httpx.Response:
    return client.get(path, headers={"Authorization": f"Bearer {raw_key}"})


def body(client: httpx.Client, workspace: Workspace, path: str, request: int = 0) -> bytes:
    """The body of a path; each key of the workspace is used for some requests.

    Raises:
        Disagreement: the status is not 200.
    """
    response = get(client, path, workspace.keys[request // USES].raw)
    if response.status_code != 200:
        raise Disagreement(f"{path}: {response.status_code} {response.text[:300]}")
    return response.content


def learn(servers: Mapping[str, Server], targets: Sequence[Target]) -> dict[str, list[Target]]:
    """The targets of each variant with the bodies of its responses.

    Raises:
        Disagreement: a variant responds differently from the first one, or leads to another next
            page.
    """
    learned: dict[str, list[Target]] = {name: [] for name in servers}
    for target in targets:
        expected: list[str] = []
        for name, server in servers.items():
            first = body(server.client, target.workspace, target.path)
            pages = [comparable(first)]
            if cursor := json.loads(first).get("nextCursor"):
                following = f"{target.path}&{urlencode({'cursor': cursor})}"
                pages.append(comparable(body(server.client, target.workspace, following)))
            expected = expected or pages
            for one, other in zip(expected, pages, strict=True):
                if one != other:
                    equal = len(commonprefix([one, other]))
                    raise Disagreement(
                        f"{name}, {target.path}: {other[max(0, equal - 50) : equal + 50]}"
                    )
            learned[name].append(replace(target, body=first))
    return learned


def refuse_alike(stack: Stack, servers: Mapping[str, Server], workspace: Workspace) -> None:
    """Checks that each variant refuses a key that does not exist, and one that is used too often.

    Raises:
        Disagreement: one does not.
    """
    raw = workspace.keys[-1].raw
    for name, server in servers.items():
        stack.reset_rate_limit()
        unknown = get(server.client, "/api/v1/me", raw[:-1] + "_").status_code
        if unknown != 401:
            raise Disagreement(f"{name}: {unknown} for a key that does not exist")
        # Twice the limit: the window may end meanwhile.
        allowed, status = -1, 200
        while status == 200 and allowed < 2 * REQUESTS_PER_MINUTE:
            allowed, status = allowed + 1, get(server.client, "/api/v1/me", raw).status_code
        if status != 429 or allowed < REQUESTS_PER_MINUTE:
            raise Disagreement(f"{name}: {status} after {allowed} requests with one key")
