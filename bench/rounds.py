"""All that is measured, in rounds: A B C, A B C."""

import json
from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import urlencode

from bench import downloads, log
from bench.agreement import body, learn, refuse_alike
from bench.downloads import Ratios
from bench.loading import Scale, Workspace, workspaces
from bench.measuring import Measurement, latencies, measure
from bench.servers import VARIANTS, Server, serving
from bench.stack import Stack
from bench.traffic import ENDPOINTS, Target, endless, targets
from documents.api.parameters import STATUS_FILTER

AMONG = 40  # small workspaces that are requested in turn
FIXED_RATE = "list25"  # the endpoint that is also measured at a fixed rate
PACES = ("drf", "starlette")  # half the rate of these, for all variants that can serve twice that
LIST, ME = ENDPOINTS[FIXED_RATE].path, ENDPOINTS["me"].path
PAGE = 100

Cases = dict[str, list[Measurement]]  # of each variant or case, one for each round
Costs = dict[str, Cases]  # of each endpoint; and of what must not grow: `lists` and `/me`
# At half the rate of the first variant, of the second one, for each round: the rate, the median and
# the 99th percentile, in seconds.
Latencies = dict[tuple[str, str], list[tuple[float, float, float]]]


def measure_all(stack: Stack, scale: Scale) -> tuple[Costs, Latencies, Ratios]:
    """Measures everything.

    Raises:
        Disagreement: the variants do not respond alike.
        WrongResponse: under load, a response was not the right one.
    """
    costs: Costs = defaultdict(lambda: defaultdict(list))
    rates: Latencies = defaultdict(list)
    ratios: Ratios = defaultdict(list)
    cases: dict[tuple[str, str], list[Target]] = {}
    for number in range(1, scale.rounds + 1):
        # New processes for each round: the chances of a start are part of the spread.
        with serving(VARIANTS) as servers:
            cases = cases or _learn(stack, scale, servers)
            log(f"round {number} of {scale.rounds}")
            for (table, case), wanted in cases.items():
                stack.prepare()
                server = servers.get(case, servers["ours"])
                measured = measure(stack, server, endless(wanted), scale.seconds)
                log(f"  {table}, {case}: {measured.rate:.0f}/s {measured.cost_ms:.2f} ms")
                costs[table][case].append(measured)
            fixed = costs[FIXED_RATE]
            for pace in PACES:
                rate = fixed[pace][-1].rate / 2
                for name, server in servers.items():
                    if fixed[name][-1].rate >= rate * 2:
                        stack.prepare()
                        requests = endless(cases[FIXED_RATE, name])
                        found = latencies(server, requests, rate, scale.seconds / 2)
                        rates[pace, name].append((rate, *found))
            stack.prepare()
            downloads.measure(stack, scale, servers["ours"], ratios)
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
        learned = learn(servers, targets(endpoint, small))
        cases |= {(endpoint, name): found for name, found in learned.items()}
    refuse_alike(stack, servers, small[-1])
    stack.prepare()
    client = servers["ours"].client

    def known(path: str, *workspaces: Workspace) -> list[Target]:
        return [Target("", each, path, body(client, each, path)) for each in workspaces]

    deep = large.documents // 2
    log(f"paging through {deep:,} documents")
    cursor = ""
    for number in range(deep // PAGE):
        page = body(client, large, f"/api/v1/documents?limit={PAGE}{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"
    return {
        **cases,
        ("lists", f"page 1 of {large.documents:,} documents"): known(LIST, large),
        ("lists", f"page 1 of {small[0].documents:,} documents"): known(LIST, *small),
        ("lists", f"a page {deep:,} documents deep"): known(LIST + cursor, large),
        **{("lists", f"status={s}"): known(f"{LIST}&status={s}", large) for s in STATUS_FILTER},
        ("/me", f"/me with {small[0].documents:,} documents"): known(ME, *small),
        ("/me", f"/me with {large.documents:,} documents"): known(ME, large),
    }
