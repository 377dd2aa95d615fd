"""All that is measured, in rounds. Before that, all variants must respond alike."""

import itertools
import json
from collections import defaultdict
from collections.abc import Mapping
from os.path import commonprefix
from urllib.parse import urlencode

from bench import log
from bench.loading import Scale, Workspace, identifier, workspaces
from bench.measuring import Measurement, measure
from bench.peers import REQUESTS_PER_MINUTE
from bench.servers import OURS, Server, Variant, serving
from bench.stack import Stack
from bench.traffic import (
    DOWNLOAD,
    ENDPOINTS,
    LIST25,
    ME,
    Disagreement,
    Target,
    body,
    endless,
    get,
    target,
)

LIST, SEARCH = ENDPOINTS[LIST25], "/api/v1/search?limit=25"
# Beside the first page of the list: few documents, and those that are close together.
STATUSES = ("DECLINED", "CANCELLED")
# Searches that cost much: what is frequent, alone and not together, and all that can be asked for.
SEARCHES = (
    "status=SENT&status=VIEWED",
    "title=lease+acme",
    "recipientStatus=VIEWED&status=COMPLETED",
    "title=lease&recipientStatus=APPROVED&status=COMPLETED&sort=completed",
    "title=lease+1+2+3+4+5+6+7&recipientStatus=SIGNED&status=COMPLETED&status=EXPIRED"
    "&sentFrom=2023-01-01&createdFrom=2023-01-01&completedFrom=2023-01-01&expiresFrom=2023-01-01",
)
PAGE, SMALL_ME, LARGE_ME = "page 1", "/me, small workspace", "/me, large workspace"
LARGE_FILE = "a download of 1 MB"

Cases = dict[str, list[Measurement]]  # of each variant or case, one for each round
Costs = dict[str, Cases]  # of each endpoint; and of what must not grow, GROWTH
GROWTH = "growth"


def measure_all(stack: Stack, scale: Scale, variants: Mapping[str, Variant]) -> Costs:
    """Measures everything.

    Raises:
        Disagreement: the variants do not respond alike, or not rightly under load.
    """
    costs: Costs = defaultdict(lambda: defaultdict(list))
    learned: dict[tuple[str, str], list[Target]] = {}
    for number in range(scale.rounds):
        # New processes for each round: the chances of a start are part of the spread.
        with serving(variants, stack.folder) as servers:
            learned = learned or _learn(stack, scale, servers)
            log(f"round {number + 1} of {scale.rounds}")
            names = list(servers)
            for name, endpoint in itertools.product(names, ENDPOINTS):  # processes become warm
                measure(stack, servers[name], endless(learned[endpoint, name]), scale.seconds / 4)
            for turn, endpoint in enumerate(ENDPOINTS, number):
                first = turn % len(names)  # another one begins each time
                for name in names[first:] + names[:first]:
                    wanted = endless(learned[endpoint, name])
                    costs[endpoint][name].append(
                        measured := measure(stack, servers[name], wanted, scale.seconds)
                    )
                    log(f"  {endpoint}, {name}: {measured.server:.2f} ms {measured.rate:.0f}/s")
            cases = [(case, found) for (table, case), found in learned.items() if table == GROWTH]
            for case, found in cases[number % len(cases) :] + cases[: number % len(cases)]:
                measured = measure(stack, servers[OURS], endless(found), scale.seconds)
                costs[GROWTH][case].append(measured)
                log(f"  {case}: {measured.server + measured.database:.2f} ms")
    return costs


def _learn(
    stack: Stack, scale: Scale, servers: Mapping[str, Server]
) -> dict[tuple[str, str], list[Target]]:
    """The targets of each endpoint and variant, and of each case, with their responses' bodies."""
    large, *small = workspaces(scale)
    found: dict[tuple[str, str], list[Target]] = defaultdict(list)
    for server in servers.values():
        stack.prepare()
        _refuses(server, small[-1])
    for endpoint in ENDPOINTS:
        log(f"comparing responses: {endpoint}")
        stack.prepare()
        for workspace in small:
            for name, learned in _agree(servers, target(endpoint, workspace)).items():
                found[endpoint, name].append(learned)
    client = servers[OURS].client
    deep = large.documents // 2
    log(f"paging through {deep:,} documents")
    newest, cursor = identifier("document", large.first), ""
    for number in range(deep // 100):
        page = body(client, large, f"/api/v1/documents?limit=100{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"

    def known(path: str, *workspaces: Workspace) -> list[Target]:
        return [Target("", each, path, body(client, each, path)) for each in workspaces]

    cases = {
        PAGE: known(LIST, large),
        f"{PAGE}, small workspace": known(LIST, *small),
        f"a page {deep:,} documents deep": known(LIST + cursor, large),
        **{f"status={s}": known(f"{LIST}&status={s}", large) for s in STATUSES},
        **{f"search: {s}": known(f"{SEARCH}&{s}", large) for s in SEARCHES},
        SMALL_ME: known(ENDPOINTS[ME], *small),
        LARGE_ME: known(ENDPOINTS[ME], large),
        LARGE_FILE: known(DOWNLOAD.format(document=newest), large),
    }
    return {**found, **{(GROWTH, case): each for case, each in cases.items()}}


def _comparable(body: bytes) -> str:
    """JSON whose fields, their order and values are to be equal; cursors may differ."""
    value = json.loads(body)
    if isinstance(value.get("nextCursor"), str):
        value["nextCursor"] = "a cursor"
    return json.dumps(value)


def _agree(servers: Mapping[str, Server], target: Target) -> dict[str, Target]:
    """The target with the body of each variant's response.

    Raises:
        Disagreement: a variant responds differently from the first one, or leads to another next
            page.
    """
    learned, expected = {}, list[str]()
    for name, server in servers.items():
        first = body(server.client, target.workspace, target.path)
        pages = [_comparable(first)]
        if cursor := json.loads(first).get("nextCursor"):
            following = f"{target.path}&{urlencode({'cursor': cursor})}"
            pages.append(_comparable(body(server.client, target.workspace, following)))
        expected = expected or pages
        for one, other in zip(expected, pages, strict=True):
            if one != other:
                equal = len(commonprefix([one, other]))
                shown = other[max(0, equal - 50) : equal + 50]
                raise Disagreement(f"{name}, {target.path}: {shown}")
        learned[name] = target._replace(body=first)
    return learned


def _refuses(server: Server, workspace: Workspace) -> None:
    """Checks that a variant refuses a key that does not exist, and one that is used too often.

    Raises:
        Disagreement: it does not.
    """
    raw = workspace.keys[-1].raw
    if (unknown := get(server.client, "/api/v1/me", raw[:-1] + "_").status_code) != 401:
        raise Disagreement(f"{server.title}: {unknown} for a key that does not exist")
    # Twice the limit: the window may end meanwhile.
    for _ in range(2 * REQUESTS_PER_MINUTE):
        if (status := get(server.client, "/api/v1/me", raw).status_code) != 200:
            break
    if status != 429:
        raise Disagreement(f"{server.title}: {status} for a key that is used too often")
