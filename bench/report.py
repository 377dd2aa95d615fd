"""The results as tables, and the targets."""

from collections.abc import Sequence
from statistics import median

from bench.downloads import Ratios
from bench.measuring import Measurement
from bench.page import spread, table
from bench.rounds import Cases, Costs, Latencies
from bench.servers import DRF, OURS, STARLETTE
from bench.traffic import DETAIL, ENDPOINTS, LIST25, LIST100, ME

# endpoint → peer → how many times as many requests a second at least
AT_LEAST = {
    LIST25: {DRF: 15, STARLETTE: 1.0},
    LIST100: {DRF: 24, STARLETTE: 1.2},
    DETAIL: {DRF: 12, STARLETTE: 0.9},
    ME: {DRF: 9.5, STARLETTE: 0.75},
}
LISTS = 1.2  # processor time of the most expensive list over the cheapest one, in one run
SEARCH = 3.0  # processor time of the most expensive search over a page of the list
COUNTS = 1.3  # `/me`: a million documents over a thousand
FIRST_BYTE = 15.0  # of one download, as a multiple of curl's
THROUGHPUT = 0.5  # of many downloads at once, as a part of curl's
COLUMNS = ("requests/s", "server, ms", "database, ms", "both, ms", "Redis, ms")


def verdict(holds: bool) -> str:
    return "holds" if holds else "**fails**"


def against(ours: Sequence[float], theirs: Sequence[float], least: float) -> list[str]:
    """Target, requests a second as a multiple of a peer's, and whether the rounds reach it."""
    found = [a / b for a, b in zip(ours, theirs, strict=True)]  # the machine varies
    measured = spread(found, 1 if least >= 5 else 2)
    decided = min(found) >= least or max(found) < least
    return [f"≥ {least:g}", measured, verdict(min(found) >= least) if decided else "undecided"]


def targets(*rows: tuple[str, float, str, float]) -> list[str]:
    """Of each: what, the value, whether its limit is the most (≤) or the least (≥), the limit."""
    head = ("cost", "target", "measured", "")
    lines = []
    for what, value, sign, limit in rows:
        holds = value <= limit if sign == "≤" else value >= limit
        lines.append([what, f"{sign} {limit:g}", f"{value:.2f}", verdict(holds)])
    return table(head, lines)


def comparison(costs: Costs) -> list[str]:
    """Requests a second as ratios, with their targets, and processor time likewise."""
    rows = []
    for endpoint, targets in AT_LEAST.items():
        ours = costs[endpoint][OURS]
        for peer, least in targets.items():
            theirs = costs[endpoint][peer]
            rates = against([m.rate for m in ours], [m.rate for m in theirs], least)
            times = [b.cost_ms / a.cost_ms for a, b in zip(ours, theirs, strict=True)]
            rows.append([endpoint, peer, *rates, spread(times)])
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


def endpoints(costs: Costs) -> list[str]:
    """The cost of each endpoint with each variant."""
    rows = [
        [endpoint, variant, *_parts(rounds)]
        for endpoint in ENDPOINTS
        for variant, rounds in costs[endpoint].items()
    ]
    return table(("endpoint", "variant", *COLUMNS), rows, words=2)


def cases(found: Cases) -> list[str]:
    """The cost of each case."""
    return table(("", *COLUMNS), [[case, *_parts(rounds)] for case, rounds in found.items()])


def searches(found: Cases, lists: Cases) -> list[str]:
    """The cost of each search, also as a multiple of the first page of the list."""
    page = next(iter(lists.values()))
    times = {search: _times(rounds, page) for search, rounds in found.items()}
    verdict = targets(
        ("the most expensive search over a page of the list", max(times.values()), "≤", SEARCH)
    )
    rows = [
        [f"`{search}`", f"{times[search]:.2f}", *_parts(rounds)] for search, rounds in found.items()
    ]
    return [*verdict, *table(("search", "times a page", *COLUMNS), rows)]


def latencies(found: Latencies) -> list[str]:
    head = ("half the rate of", "requests/s", "variant", "median, ms", "99th percentile, ms")
    rows = []
    for (pace, variant), rounds in found.items():
        rates, medians, late = zip(*rounds, strict=True)
        times = [spread([1000 * each for each in found]) for found in (medians, late)]
        rows.append([pace, spread(rates, 0), variant, *times])
    return table(head, rows, words=3)


def _times(many: Sequence[Measurement], few: Sequence[Measurement]) -> float:
    """The cost of one case as a multiple of another's, in the same round: machines vary."""
    return median(a.cost_ms / b.cost_ms for a, b in zip(many, few, strict=True))


def growth(lists: Cases, me: Cases) -> list[str]:
    """The targets of costs that must not grow."""
    cheapest = min(lists.values(), key=lambda rounds: median(m.cost_ms for m in rounds))
    relative = max(_times(rounds, cheapest) for rounds in lists.values())
    small, large = me.values()
    return targets(
        ("the most expensive list over the cheapest", relative, "≤", LISTS),
        ("the larger `/me` over the smaller", _times(large, small), "≤", COUNTS),
    )


def downloads(found: Ratios) -> list[str]:
    """The targets of downloads, and what was measured."""
    columns = {at_once: list(zip(*rounds, strict=True)) for at_once, rounds in found.items()}
    one, *_, many = columns
    verdicts = targets(
        ("first byte of one download, times curl's", median(columns[one][0]), "≤", FIRST_BYTE),
        (
            f"throughput of {many} at once, part of curl's",
            median(columns[many][1]),
            "≥",
            THROUGHPUT,
        ),
    )
    head = ("downloads at once", "first byte, times curl's", "throughput, part of curl's")
    rows = [[f"{each}", spread(first, 1), spread(rate)] for each, (first, rate) in columns.items()]
    return [*verdicts, *table(head, rows)]
