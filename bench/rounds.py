"""All that is measured, in rounds: A B C, A B C. Before that, all variants must respond alike."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os.path import commonprefix
from urllib.parse import urlencode

from bench import downloads, log
from bench.downloads import Ratios
from bench.loading import Scale, Workspace, workspaces
from bench.measuring import Measurement, latencies, measure
from bench.peers import REQUESTS_PER_MINUTE
from bench.servers import DRF, OURS, STARLETTE, Server, serving
from bench.stack import Stack
from bench.traffic import ENDPOINTS, LIST25, ME, Disagreement, Target, body, endless, get, targets
from documents.api.parameters import STATUS_FILTER

AMONG = 40  # small workspaces that are requested in turn
PACES = (DRF, STARLETTE)  # half the rate of these, for all variants that can serve twice that
LIST = ENDPOINTS[LIST25]
SEARCH = "/api/v1/search?limit=25"
# What is frequent, rare, frequent alone but not together, what nothing matches, and as much as can
# be asked for at once.
SEARCHES = (
    "status=COMPLETED",
    "status=SENT&status=VIEWED",
    "completedFrom=2026-03-01&sort=completed",
    "completedFrom=2026-03-01",
    "recipient=person5@party5.example",
    "recipientStatus=SENT",
    "recipientStatus=DECLINED&sort=completed",
    "recipientStatus=VIEWED&status=COMPLETED",
    "recipientStatus=BOUNCED",
    "title=lease",
    "title=lease+12",
    "title=lease+acme",
    "title=lease+offer",
    "title=1+2+3+4+5+6+7+8",
    "title=lease&recipientStatus=SIGNED",
    "title=lease&recipientStatus=APPROVED&status=COMPLETED&sort=completed",
    "title=lease+1+2+3+4+5+6+7&recipientStatus=SIGNED&status=COMPLETED&status=EXPIRED"
    "&sentFrom=2023-01-01&createdFrom=2023-01-01&completedFrom=2023-01-01&expiresFrom=2023-01-01",
    "title=nothing",
)

Cases = dict[str, list[Measurement]]  # of each variant or case, one for each round
Costs = dict[str, Cases]  # of each endpoint; and of what must not grow: `lists` and `/me`
# At half the rate of the first variant, of the second one, for each round: the rate, the median and
# the 99th percentile, in seconds.
Latencies = dict[tuple[str, str], list[tuple[float, float, float]]]


def measure_all(stack: Stack, scale: Scale) -> tuple[Costs, Latencies, Ratios]:
    """Measures everything.

    Raises:
        Disagreement: the variants do not respond alike, or not rightly under load.
    """
    costs: Costs = defaultdict(lambda: defaultdict(list))
    rates: Latencies = defaultdict(list)
    ratios: Ratios = defaultdict(list)
    cases: dict[tuple[str, str], list[Target]] = {}
    for number in range(1, scale.rounds + 1):
        # New processes for each round: the chances of a start are part of the spread.
        with serving() as servers:
            cases = cases or _learn(stack, scale, servers)
            log(f"round {number} of {scale.rounds}")
            for (table, case), wanted in cases.items():
                stack.prepare()
                server = servers.get(case, servers[OURS])
                measured = measure(stack, server, endless(wanted), scale.seconds)
                log(f"  {table}, {case}: {measured.rate:.0f}/s {measured.cost_ms:.2f} ms")
                costs[table][case].append(measured)
            fixed = costs[LIST25]
            for pace in PACES:
                rate = fixed[pace][-1].rate / 2
                for name, server in servers.items():
                    if fixed[name][-1].rate >= rate * 2:
                        stack.prepare()
                        requests = endless(cases[LIST25, name])
                        found = latencies(server, requests, rate, scale.seconds / 2)
                        rates[pace, name].append((rate, *found))
            stack.prepare()
            downloads.measure(stack, scale, servers[OURS], ratios)
    return costs, rates, ratios


def _learn(
    stack: Stack, scale: Scale, servers: Mapping[str, Server]
) -> dict[tuple[str, str], list[Target]]:
    """The targets of each case, with the bodies of their responses."""
    large, *small = workspaces(scale)[: AMONG + 1]
    cases: dict[tuple[str, str], list[Target]] = {}
    for endpoint in ENDPOINTS:
        log(f"comparing responses: {endpoint}")
        stack.prepare()
        learned = _agree(servers, targets(endpoint, small))
        cases |= {(endpoint, name): found for name, found in learned.items()}
    _refuse_alike(stack, servers, small[-1])
    stack.prepare()
    client = servers[OURS].client

    def known(path: str, *workspaces: Workspace) -> list[Target]:
        return [Target("", each, path, body(client, each, path)) for each in workspaces]

    deep = large.documents // 2
    log(f"paging through {deep:,} documents")
    cursor = ""
    for number in range(deep // 100):
        page = body(client, large, f"/api/v1/documents?limit=100{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"
    return {
        **cases,
        ("lists", f"page 1 of {large.documents:,} documents"): known(LIST, large),
        ("lists", f"page 1 of {small[0].documents:,} documents"): known(LIST, *small),
        ("lists", f"a page {deep:,} documents deep"): known(LIST + cursor, large),
        **{("lists", f"status={s}"): known(f"{LIST}&status={s}", large) for s in STATUS_FILTER},
        **{("searches", s): known(f"{SEARCH}&{s}", large) for s in SEARCHES},
        ("/me", f"/me with {small[0].documents:,} documents"): known(ENDPOINTS[ME], *small),
        ("/me", f"/me with {large.documents:,} documents"): known(ENDPOINTS[ME], large),
    }


def comparable(body: bytes) -> str:
    """JSON whose fields, their order and values are to be equal; cursors may differ."""
    value = json.loads(body)
    if isinstance(value.get("nextCursor"), str):
        value["nextCursor"] = "a cursor"
    return json.dumps(value)


def _agree(servers: Mapping[str, Server], targets: Sequence[Target]) -> dict[str, list[Target]]:
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


def _refuse_alike(stack: Stack, servers: Mapping[str, Server], workspace: Workspace) -> None:
    """Checks that each variant refuses a key that does not exist, and one that is used too often.

    Raises:
        Disagreement: one does not.
    """
    raw = workspace.keys[-1].raw
    for name, server in servers.items():
        stack.reset_rate_limit()
        if (unknown := get(server.client, "/api/v1/me", raw[:-1] + "_").status_code) != 401:
            raise Disagreement(f"{name}: {unknown} for a key that does not exist")
        # Twice the limit: the window may end meanwhile.
        allowed, status = -1, 200
        while status == 200 and allowed < 2 * REQUESTS_PER_MINUTE:
            allowed, status = allowed + 1, get(server.client, "/api/v1/me", raw).status_code
        if status != 429 or allowed < REQUESTS_PER_MINUTE:
            raise Disagreement(f"{name}: {status} after {allowed} requests with one key")
