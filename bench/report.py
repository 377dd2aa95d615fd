"""The results as tables, and the targets."""

from collections.abc import Sequence
from statistics import median

from bench.comparison import Cases, Latencies, Results
from bench.measuring import Measurement
from bench.page import spread, table
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS

# endpoint → peer → how many times as many requests a second at least
AT_LEAST = {
    "list25": {"drf": 15, "starlette": 1.0},
    "list100": {"drf": 24, "starlette": 1.2},
    "detail": {"drf": 12, "starlette": 0.9},
    "me": {"drf": 9.5, "starlette": 0.75},
}
# The targets below are ratios of processor time within one run.
LISTS = 1.2  # the most expensive list over the cheapest one
ME = 1.3  # a million documents over a thousand
TARGETS = ("cost", "target", "measured", "")
COSTS = ("requests/s", "server, ms", "database, ms", "both, ms", "Redis, ms")


def verdict(holds: bool) -> str:
    return "holds" if holds else "**fails**"


def _ratios(results: Results, endpoint: str, peer: str, attribute: str) -> list[float]:
    """An attribute of this service's measurements as multiples of a peer's, round by round."""
    pairs = zip(results[endpoint, "ours"], results[endpoint, peer], strict=True)
    return [getattr(ours, attribute) / getattr(theirs, attribute) for ours, theirs in pairs]


def against(results: Results, endpoint: str, peer: str) -> list[str]:
    """Target, requests a second as a multiple of a peer's, and whether the rounds reach it."""
    found, least = _ratios(results, endpoint, peer, "rate"), AT_LEAST[endpoint][peer]
    measured = spread(found, 1 if least >= 5 else 2)
    decided = min(found) >= least or max(found) < least
    return [f"≥ {least:g}", measured, verdict(min(found) >= least) if decided else "undecided"]


def at_most(what: str, value: float, most: float) -> list[str]:
    """The row of a target that is an upper limit."""
    return [what, f"≤ {most:g}", f"{value:.2f}", verdict(value <= most)]


def at_least(what: str, value: float, least: float) -> list[str]:
    """The row of a target that is a lower limit."""
    return [what, f"≥ {least:g}", f"{value:.2f}", verdict(value >= least)]


def comparison(results: Results) -> list[str]:
    """Requests a second as ratios, with their targets, and processor time likewise."""
    rows = [
        [
            ENDPOINTS[endpoint].title,
            VARIANTS[peer].title,
            *against(results, endpoint, peer),
            spread([1 / r for r in _ratios(results, endpoint, peer, "cost_ms")]),
        ]
        for endpoint, peer in results
        if peer != "ours"
    ]
    head = ("endpoint", "against", "target", "requests/s", "", "processor time")
    return table(head, rows, words=2)


def _parts(rounds: Sequence[Measurement]) -> list[str]:
    """Requests a second; processor time of server, of database, of both, and of Redis."""
    return [
        spread([m.rate for m in rounds], 0),
        spread([m.ms(m.server) for m in rounds]),
        spread([m.ms(m.database) for m in rounds]),
        spread([m.cost_ms for m in rounds]),
        spread([m.ms(m.redis) for m in rounds]),
    ]


def costs(results: Results) -> list[str]:
    """The cost of each endpoint with each variant."""
    rows = [
        [ENDPOINTS[endpoint].title, VARIANTS[variant].title, *_parts(rounds)]
        for (endpoint, variant), rounds in results.items()
    ]
    return table(("endpoint", "variant", *COSTS), rows, words=2)


def cases(found: Cases) -> list[str]:
    """The cost of each case."""
    return table(("", *COSTS), ([case, *_parts(rounds)] for case, rounds in found.items()))


def latencies(found: Latencies) -> list[str]:
    head = ("half the rate of", "requests/s", "variant", "median, ms", "99th percentile, ms")
    rows = [
        [
            VARIANTS[pace].title,
            spread([latency.rate for latency in rounds], 0),
            VARIANTS[variant].title,
            spread([1000 * latency.median for latency in rounds]),
            spread([1000 * latency.late for latency in rounds]),
        ]
        for (pace, variant), rounds in found.items()
    ]
    return table(head, rows, words=3)


def _times(many: Sequence[Measurement], few: Sequence[Measurement]) -> float:
    """The cost of one case as a multiple of another's, in the same round: machines vary."""
    return median(a.cost_ms / b.cost_ms for a, b in zip(many, few, strict=True))


def growth(lists: Cases, me: Cases) -> list[str]:
    """The targets of costs that must not grow."""
    cheapest = min(lists.values(), key=lambda rounds: median(m.cost_ms for m in rounds))
    relative = max(_times(rounds, cheapest) for rounds in lists.values())
    small, large = me.values()
    rows = [
        at_most("the most expensive list over the cheapest", relative, LISTS),
        at_most("the larger `/me` over the smaller", _times(large, small), ME),
    ]
    return table(TARGETS, rows)
