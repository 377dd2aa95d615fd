"""What a request costs where there is much: deep pages, each status, a million documents."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import httpx

from bench.agreement import Disagreement
from bench.connection import Connection, Exchange
from bench.loading.identity import Workspace
from bench.measuring import Measurement, measure, prepare
from bench.progress import Progress, say
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import ENDPOINTS, USES, Target, endless, wire
from bench.variants import Server
from config.embedded.service import HOST
from documents.api.parameters import STATUS_FILTER

PAGE = ENDPOINTS["list25"].path
WALK = 100  # documents a page on the way to the deep one

Growth = dict[str, list[Measurement]]  # case → one for each round


@dataclass(frozen=True)
class Cases:
    """What is measured: lists that are compared with each other, and `/me` likewise."""

    lists: dict[str, list[Target]]
    me: dict[str, list[Target]]

    def all(self) -> dict[str, list[Target]]:
        return self.lists | self.me


def _walked(port: int, workspace: Workspace, deep: int) -> str:
    """The cursor of the page that follows so many documents: walked to, page by page."""
    progress, connection = Progress("documents walked past", deep), Connection(port)
    cursor = ""
    for number in range(deep // WALK):
        query = urlencode({"limit": WALK, **({"cursor": cursor} if cursor else {})})
        request = wire(f"/api/v1/documents?{query}", workspace.keys[number // USES])
        connection.send(Exchange(request, None), 0)
        while (body := connection.receive()) is None:
            pass
        cursor = json.loads(body)["nextCursor"]
        progress.add(WALK)
    connection.socket.close()
    return cursor


def _known(client: httpx.Client, targets: Sequence[Target]) -> list[Target]:
    """The targets with the bodies that answer them."""
    found = []
    for target in targets:
        raw = target.workspace.keys[0].raw
        answer = client.get(target.path, headers={"Authorization": f"Bearer {raw}"})
        answer.raise_for_status()
        found.append(replace(target, body=answer.content))
    return found


def _cases(server: Server, scale: Scale, large: Workspace, small: Sequence[Workspace]) -> Cases:
    cursor = urlencode({"cursor": _walked(server.port, large, scale.deep)})
    with httpx.Client(base_url=f"http://{HOST}:{server.port}") as client:
        lists = {
            f"page 1 of {large.documents:,} documents": [Target(large, PAGE)],
            f"page 1 of {small[0].documents:,} documents": [Target(w, PAGE) for w in small],
            f"a page {scale.deep:,} documents deep": [Target(large, f"{PAGE}&{cursor}")],
        }
        for status in STATUS_FILTER:
            lists[f"status={status}"] = [Target(large, f"{PAGE}&status={status}")]
        me = ENDPOINTS["me"].path
        both = {
            f"/me with {small[0].documents:,} documents": [Target(w, me) for w in small],
            f"/me with {large.documents:,} documents": [Target(large, me)],
        }
        cases = Cases(
            {case: _known(client, targets) for case, targets in lists.items()},
            {case: _known(client, targets) for case, targets in both.items()},
        )
    _check_counts(cases, [large, *small])
    return cases


def _check_counts(cases: Cases, workspaces: Sequence[Workspace]) -> None:
    """The counts of `/me` can be no more than there are documents, and are not nothing."""
    sizes = {workspace.id: workspace.documents for workspace in workspaces}
    for targets in cases.me.values():
        for target in targets:
            data = json.loads(target.body or b"")["data"]
            if not 0 < sum(data["documents"].values()) <= sizes[target.workspace.id]:
                raise Disagreement(f"/me says {data}")


def grow(
    stack: Stack,
    database: str,
    scale: Scale,
    server: Server,
    large: Workspace,
    small: Sequence[Workspace],
) -> tuple[Growth, Growth]:
    """The cost of lists, and of `/me`, case by case, measured in turn."""
    prepare(stack, database)
    cases = _cases(server, scale, large, small)
    found: Growth = {case: [] for case in cases.all()}
    for number in range(1, scale.rounds + 1):
        say(f"growth, round {number} of {scale.rounds}")
        for case, targets in cases.all().items():
            prepare(stack, database)
            found[case].append(
                measure(
                    stack,
                    server,
                    endless(targets),
                    warm_up=scale.warm_up,
                    seconds=scale.seconds,
                )
            )
    return (
        {case: found[case] for case in cases.lists},
        {case: found[case] for case in cases.me},
    )
