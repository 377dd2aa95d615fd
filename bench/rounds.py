"""All that is measured, in rounds: A B C, A B C."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from bench import downloads, log
from bench.agreement import body, learn, refuse_alike
from bench.loading import Workspace, workspaces
from bench.measuring import Measurement, latencies, measure
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import ENDPOINTS, Target, endless, targets
from bench.variants import VARIANTS, Server, serving
from documents.api.parameters import STATUS_FILTER

AMONG = 40  # small workspaces that are requested in turn
FIXED_RATE = "list25"  # the endpoint that is also measured at a fixed rate
PACES = ("drf", "starlette")  # half the rate of these, for all variants that can serve twice that
LIST, ME = ENDPOINTS[FIXED_RATE].path, ENDPOINTS["me"].path
PAGE = 100

Costs = dict[str, list[Measurement]]  # of each variant or case, one for each round


@dataclass
class Results:
    """What is measured, one for each round."""

    # Of each endpoint with each variant; and of what must not grow: `lists` and `/me`.
    costs: dict[str, Costs] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    # At half the rate of the first variant, of the second one: the rate, the median and the 99th
    # percentile, in seconds.
    latencies: dict[tuple[str, str], list[tuple[float, float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    downloads: downloads.Ratios = field(default_factory=lambda: defaultdict(list))


def measure_all(stack: Stack, scale: Scale) -> Results:
    """Measures everything.

    Raises:
        Disagreement: the variants do not respond alike.
        WrongResponse: under load, a response was not the right one.
    """
    results = Results()
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
                results.costs[table][case].append(measured)
            fixed = results.costs[FIXED_RATE]
            for pace in PACES:
                rate = fixed[pace][-1].rate / 2
                for name, server in servers.items():
                    if fixed[name][-1].rate >= rate * 2:
                        stack.prepare()
                        requests = endless(cases[FIXED_RATE, name])
                        found = latencies(server, requests, rate, scale.seconds / 2)
                        results.latencies[pace, name].append((rate, *found))
            stack.prepare()
            downloads.measure(stack, scale, servers["ours"], results.downloads)
    return results


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

    log(f"paging through {scale.deep:,} documents")
    cursor = ""
    for number in range(scale.deep // PAGE):
        page = body(client, large, f"/api/v1/documents?limit={PAGE}{cursor}", number)
        cursor = f"&{urlencode({'cursor': json.loads(page)['nextCursor']})}"
    return {
        **cases,
        ("lists", f"page 1 of {large.documents:,} documents"): known(LIST, large),
        ("lists", f"page 1 of {small[0].documents:,} documents"): known(LIST, *small),
        ("lists", f"a page {scale.deep:,} documents deep"): known(LIST + cursor, large),
        **{("lists", f"status={s}"): known(f"{LIST}&status={s}", large) for s in STATUS_FILTER},
        ("/me", f"/me with {small[0].documents:,} documents"): known(ME, *small),
        ("/me", f"/me with {large.documents:,} documents"): known(ME, large),
    }
