"""The results as tables, and the targets."""

from collections.abc import Sequence
from statistics import median

from bench.measuring import Measurement
from bench.page import spread, table
from bench.rounds import Costs, Results
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
FIRST_BYTE = 15.0  # of one download, as a multiple of curl's
THROUGHPUT = 0.5  # of many downloads at once, as a part of curl's
COSTS = ("requests/s", "server, ms", "database, ms", "both, ms", "Redis, ms")


def verdict(holds: bool) -> str:
    return "holds" if holds else "**fails**"


def against(ours: Sequence[float], theirs: Sequence[float], least: float) -> list[str]:
    """Target, requests a second as a multiple of a peer's, and whether the rounds reach it."""
    found = [a / b for a, b in zip(ours, theirs, strict=True)]  # the machine varies
    measured = spread(found, 1 if least >= 5 else 2)
    decided = min(found) >= least or max(found) < least
    return [f"≥ {least:g}", measured, verdict(min(found) >= least) if decided else "undecided"]


def at_most(what: str, value: float, most: float) -> list[str]:
    """The row of a target that is an upper limit."""
    return [what, f"≤ {most:g}", f"{value:.2f}", verdict(value <= most)]


def targets(rows: Sequence[Sequence[str]]) -> list[str]:
    return table(("cost", "target", "measured", ""), rows)


def comparison(results: Results) -> list[str]:
    """Requests a second as ratios, with their targets, and processor time likewise."""
    rows = []
    for endpoint, targets in AT_LEAST.items():
        ours = results.costs[endpoint]["ours"]
        for peer, least in targets.items():
            theirs = results.costs[endpoint][peer]
            rates = against([m.rate for m in ours], [m.rate for m in theirs], least)
            costs = [b.cost_ms / a.cost_ms for a, b in zip(ours, theirs, strict=True)]
            rows.append([ENDPOINTS[endpoint].title, VARIANTS[peer].title, *rates, spread(costs)])
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
        for endpoint in ENDPOINTS
        for variant, rounds in results.costs[endpoint].items()
    ]
    return table(("endpoint", "variant", *COSTS), rows, words=2)


def cases(found: Costs) -> list[str]:
    """The cost of each case."""
    return table(("", *COSTS), [[case, *_parts(rounds)] for case, rounds in found.items()])


def latencies(results: Results) -> list[str]:
    head = ("half the rate of", "requests/s", "variant", "median, ms", "99th percentile, ms")
    rows = []
    for (pace, variant), rounds in results.latencies.items():
        rates, medians, late = zip(*rounds, strict=True)
        times = [spread([1000 * each for each in found]) for found in (medians, late)]
        rows.append([VARIANTS[pace].title, spread(rates, 0), VARIANTS[variant].title, *times])
    return table(head, rows, words=3)


def _times(many: Sequence[Measurement], few: Sequence[Measurement]) -> float:
    """The cost of one case as a multiple of another's, in the same round: machines vary."""
    return median(a.cost_ms / b.cost_ms for a, b in zip(many, few, strict=True))


def growth(lists: Costs, me: Costs) -> list[str]:
    """The targets of costs that must not grow."""
    cheapest = min(lists.values(), key=lambda rounds: median(m.cost_ms for m in rounds))
    relative = max(_times(rounds, cheapest) for rounds in lists.values())
    small, large = me.values()
    return targets(
        [
            at_most("the most expensive list over the cheapest", relative, LISTS),
            at_most("the larger `/me` over the smaller", _times(large, small), ME),
        ]
    )


def downloads(results: Results) -> list[str]:
    """The targets of downloads, and what was measured."""
    [_, (one, _)], [many, (_, through)] = (
        (concurrent, list(zip(*rounds, strict=True)))
        for concurrent, rounds in results.downloads.items()
    )
    verdicts = [
        at_most("first byte of one download, times curl's", median(one), FIRST_BYTE),
        [
            f"throughput of {many} at once, part of curl's",
            f"≥ {THROUGHPUT:g}",
            f"{median(through):.2f}",
            verdict(median(through) >= THROUGHPUT),
        ],
    ]
    head = ("downloads at once", "first byte, times curl's", "throughput, part of curl's")
    rows = []
    for concurrent, rounds in results.downloads.items():
        first, throughput = zip(*rounds, strict=True)
        rows.append([f"{concurrent}", spread(first, 1), spread(throughput)])
    return [*targets(verdicts), *table(head, rows)]
