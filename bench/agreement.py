"""Checks, before anything is measured, that all variants respond alike."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import httpx

from bench.stack import Stack
from bench.traffic import Target
from bench.variants import Server

LIMIT = 300  # requests a minute and key
SHOWN = 5  # differences


class Disagreement(Exception):
    """Variants respond differently, or not with what is to be measured."""


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two JSON values differ; cursors may, as long as both exist or neither."""
    if isinstance(one, dict) and isinstance(other, dict):
        if list(one) != list(other):
            return [f"{path}: {list(one)} and {list(other)}"]
        return [d for name in one for d in differences(one[name], other[name], f"{path}.{name}")]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} items"]
        pairs = enumerate(zip(one, other, strict=True))
        return [d for n, (a, b) in pairs for d in differences(a, b, f"{path}[{n}]")]
    if path.endswith(".nextCursor") and isinstance(one, str) and isinstance(other, str):
        return []
    return [] if type(one) is type(other) and one == other else [f"{path}: {one!r} and {other!r}"]


def get(server: Server, path: str, raw_key: str) -> httpx.Response:
    return server.client.get(path, headers={"Authorization": f"Bearer {raw_key}"})


def body(server: Server, target: Target, path: str) -> bytes:
    """The body of a path, with the first key of the target's workspace.

    Raises:
        Disagreement: the status is not 200.
    """
    response = get(server, path, target.workspace.keys[0].raw)
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
        expected: list[Any] = []
        for name, server in servers.items():
            first = body(server, target, target.path)
            pages = [json.loads(first)]
            if cursor := pages[0].get("nextCursor"):
                following = f"{target.path}&{urlencode({'cursor': cursor})}"
                pages.append(json.loads(body(server, target, following)))
            expected = expected or pages
            if found := differences(expected, pages):
                raise Disagreement(f"{name}, {target.path}: {'; '.join(found[:SHOWN])}")
            learned[name].append(replace(target, body=first))
    return learned


def refuse_alike(stack: Stack, servers: Mapping[str, Server], target: Target) -> None:
    """Checks that each variant refuses a key that does not exist, and one that is used too often.

    Raises:
        Disagreement: one does not.
    """
    raw = target.workspace.keys[-1].raw
    for name, server in servers.items():
        stack.reset_rate_limit()
        unknown = get(server, "/api/v1/me", raw[:-1] + "_").status_code
        if unknown != 401:
            raise Disagreement(f"{name}: {unknown} for a key that does not exist")
        # Twice the limit: the window may end meanwhile.
        allowed, status = -1, 200
        while status == 200 and allowed < 2 * LIMIT:
            allowed, status = allowed + 1, get(server, "/api/v1/me", raw).status_code
        if status != 429 or allowed < LIMIT:
            raise Disagreement(f"{name}: {status} after {allowed} requests with one key")
