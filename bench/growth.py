"""The cost of a request where there is much data: deep pages, each status, a million documents."""

import json
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

from bench import log
from bench.agreement import body
from bench.comparison import Cases
from bench.loading import Workspace
from bench.measuring import measure
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import ENDPOINTS, Target, endless
from bench.variants import Server
from documents.api.parameters import STATUS_FILTER

LIST, ME = ENDPOINTS["list25"].path, ENDPOINTS["me"].path
PAGE = 100


def _cursor(server: Server, workspace: Workspace, deep: int) -> str:
    """The parameter of the page after so many documents, reached page by page."""
    log(f"paging through {deep:,} documents")
    cursor = ""
    for number in range(deep // PAGE):
        page = body(server.client, workspace, f"/api/v1/documents?limit={PAGE}{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"
    return cursor


def grow(
    stack: Stack, scale: Scale, server: Server, workspaces: Sequence[Workspace]
) -> tuple[Cases, Cases]:
    """The cost of lists, and of `/me`, case by case, measured in turn."""
    stack.prepare()
    large, *small = workspaces
    lists = {
        f"page 1 of {large.documents:,} documents": [Target("list", large, LIST)],
        f"page 1 of {small[0].documents:,} documents": [Target("list", w, LIST) for w in small],
        f"a page {scale.deep:,} documents deep": [
            Target("list", large, LIST + _cursor(server, large, scale.deep))
        ],
        **{f"status={s}": [Target("list", large, f"{LIST}&status={s}")] for s in STATUS_FILTER},
    }
    me = {
        f"/me with {small[0].documents:,} documents": [Target("me", w, ME) for w in small],
        f"/me with {large.documents:,} documents": [Target("me", large, ME)],
    }
    cases = {
        case: [replace(t, body=body(server.client, t.workspace, t.path)) for t in targets]
        for case, targets in (lists | me).items()
    }
    found: Cases = {case: [] for case in cases}
    for number in range(1, scale.rounds + 1):
        log(f"growth, round {number} of {scale.rounds}")
        for case, targets in cases.items():
            stack.prepare()
            found[case].append(measure(stack, server, endless(targets), scale.seconds))
    return {case: found[case] for case in lists}, {case: found[case] for case in me}
