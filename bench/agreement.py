"""Whether all variants answer alike: before anything is measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from bench.progress import Progress
from bench.stack import Stack
from bench.traffic import Endpoint, Target
from bench.variants import Server
from config.embedded.service import HOST

LIMIT = 300  # requests a minute and key
TOLD = 5  # differences that are named


class Disagreement(Exception):
    """Variants answer differently."""


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two JSON values differ; cursors may, as long as both are there or neither."""
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


def _get(client: httpx.Client, path: str, raw: str) -> httpx.Response:
    return client.get(path, headers={"Authorization": f"Bearer {raw}"})


def _body(client: httpx.Client, target: Target, path: str) -> bytes:
    key = target.workspace.keys[0]
    answer = _get(client, path, key.raw)
    if answer.status_code != 200:
        raise Disagreement(f"{path}: {answer.status_code} {answer.text[:300]}")
    return answer.content


def _next_path(target: Target, body: Any) -> str | None:
    cursor = body.get("nextCursor")
    return cursor and f"{target.path}&{httpx.QueryParams(cursor=cursor)}"


def learn(
    servers: Mapping[str, Server], endpoint: Endpoint, targets: Sequence[Target]
) -> dict[str, list[Target]]:
    """The targets of each variant with the bodies that answer them.

    Raises:
        Disagreement: a variant answers differently from the first one; or the page that its
            cursor leads to does.
    """
    learned: dict[str, list[Target]] = {name: [] for name in servers}
    progress = Progress(f"answers compared, {endpoint.title}", len(targets) * len(servers))
    clients = {n: httpx.Client(base_url=f"http://{HOST}:{s.port}") for n, s in servers.items()}
    for target in targets:
        first: list[Any] = []
        for name, client in clients.items():
            body = _body(client, target, target.path)
            answers = [json.loads(body)]
            if following := _next_path(target, answers[0]):
                answers.append(json.loads(_body(client, target, following)))
            first = first or answers
            if found := differences(first, answers):
                raise Disagreement(f"{name}, {target.path}: {'; '.join(found[:TOLD])}")
            learned[name].append(replace(target, body=body))
            progress.add(1)
    for client in clients.values():
        client.close()
    return learned


def refuse_alike(stack: Stack, servers: Mapping[str, Server], target: Target) -> None:
    """Each variant refuses a key that does not exist, and one that is used too often.

    Raises:
        Disagreement: one does not.
    """
    key = target.workspace.keys[-1]
    for name, server in servers.items():
        stack.forget_requests()
        with httpx.Client(base_url=f"http://{HOST}:{server.port}") as client:
            unknown = _get(client, "/api/v1/me", key.raw[:-1] + "_").status_code
            if unknown != 401:
                raise Disagreement(f"{name}: {unknown} for a key that does not exist")
            # Twice the limit: the window may end meanwhile.
            passed, status = -1, 200
            while status == 200 and passed < 2 * LIMIT:
                passed, status = passed + 1, _get(client, "/api/v1/me", key.raw).status_code
            if status != 429 or passed < LIMIT:
                raise Disagreement(f"{name}: {status} after {passed} requests with one key")
