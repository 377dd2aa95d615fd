"""The results in words and tables: Markdown."""

from collections.abc import Iterable, Sequence
from statistics import median

from bench.audit_log import AuditLog
from bench.comparison import Cases, Latencies, Results
from bench.importing import Imports
from bench.measuring import Measurement
from bench.stack import MB
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS
from bench.writers import CASES, Writers

STARLETTE = ("starlette", "starlette-granian")  # the better of them counts: both have its target
# endpoint → peer → how many times as many requests a second at least
AT_LEAST = {
    "list25": {"drf": 15, "fastapi": 1.9, **dict.fromkeys(STARLETTE, 1.0), "floor": 0.85},
    "list100": {"drf": 24, "fastapi": 2.5, **dict.fromkeys(STARLETTE, 1.2), "floor": 1.4},
    "detail": {"drf": 12, "fastapi": 1.5, **dict.fromkeys(STARLETTE, 0.85), "floor": 0.7},
    "me": {"drf": 9.5, "fastapi": 1.3, **dict.fromkeys(STARLETTE, 0.7), "floor": 0.5},
}
# The targets below are ratios of processor time within one run.
LISTS = 1.2  # the most expensive list over the cheapest one
ME = 1.3  # a million documents over a thousand
AUDIT_LOG = 2.0  # ten million entries over ten thousand
USAGE = 1.0  # percent of a request
IMPORT = 1.2  # a document among a hundred thousand over one among ten thousand
# MB that ninety thousand documents more may take: 180 bytes each. The ids alone, that of a document
# and of its three recipients, would be three times as much as Python's objects.
IMPORT_MEMORY = 16
# The part of their speed that writers keep with the triggers of the counts.
WRITERS = {"rename": 0.97, "one": 0.68, "eight": 0.73, "bulk": 0.6}
TARGETS = ("cost", "target", "measured", "")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A Markdown table, the columns after the first `words` ones aligned to the right."""
    line = "|" + "---|" * words + "---:|" * (len(head) - words)
    return [f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median of the rounds, and the least and the most."""
    middle, low, high = (f"{f(values):,.{digits}f}" for f in (median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def verdict(holds: bool) -> str:
    return "holds" if holds else "**fails**"


def _ratios(results: Results, endpoint: str, peer: str, attribute: str) -> list[float]:
    """An attribute of this service's measurements as multiples of a peer's, round by round."""
    pairs = zip(results[endpoint, "ours"], results[endpoint, peer], strict=True)
    return [getattr(ours, attribute) / getattr(theirs, attribute) for ours, theirs in pairs]


def against(results: Results, endpoint: str, peer: str) -> list[str]:
    """Target, requests a second as a multiple of a peer's, and whether the median reaches it."""
    found, least = _ratios(results, endpoint, peer, "rate"), AT_LEAST[endpoint][peer]
    measured = spread(found, 1 if least >= 5 else 2)
    return [f"≥ {least:g}", measured, verdict(median(found) >= least)]


def at_most(what: str, value: float, most: float, unit: str = "") -> list[str]:
    """The row of a target that is an upper limit."""
    digits = 1 if unit else 2
    return [what, f"≤ {most:g}{unit}", f"{value:.{digits}f}{unit}", verdict(value <= most)]


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


COSTS = ("requests/s", "server, ms", "database, ms", "both, ms", "Redis, ms")


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


def audit_log(found: AuditLog) -> list[str]:
    head = ("first screen of", "few entries, ms", "many entries, ms", "many / few")
    rows = [
        [
            name,
            *(spread([m.cost_ms for m in rounds], 1) for rounds in (few, many)),
            f"{_times(many, few):.2f}",
        ]
        for name, (few, many) in found.items()
    ]
    return table(head, rows)


def growth(lists: Cases, me: Cases, read: AuditLog) -> list[str]:
    """The targets of costs that must not grow."""
    cheapest = min(lists.values(), key=lambda rounds: median(m.cost_ms for m in rounds))
    relative = max(_times(rounds, cheapest) for rounds in lists.values())
    small, large = me.values()
    screens = max(_times(many, few) for few, many in read.values())
    rows = [
        at_most("the most expensive list over the cheapest", relative, LISTS),
        at_most("the larger `/me` over the smaller", _times(large, small), ME),
        at_most("the audit log's largest growth", screens, AUDIT_LOG),
    ]
    return table(TARGETS, rows)


def usage(seconds: Sequence[float], me: Sequence[Measurement]) -> list[str]:
    """What counting a request costs, as a part of the cheapest endpoint's cost."""
    part = 100_000 * median(seconds) / median(m.cost_ms for m in me)
    named = f"counting a request, {spread([1e6 * each for each in seconds])} µs, of `/me`"
    return table(TARGETS, [at_most(named, part, USAGE, " %")])


def writers(found: Writers) -> list[str]:
    """What is left of the writers' speed with triggers, and what these add to a change."""
    verdicts, rows = [], []
    for name, case in CASES.items():
        none, events, both = (found[name, triggers] for triggers in ("none", "events", "all"))
        left = median(b / e for b, e in zip(both, events, strict=True))
        verdicts.append(at_least(case.title, left, WRITERS[name]))
        added = [
            f"{1e6 * case.writers * (1 / median(slow) - 1 / median(quick)):,.1f}"
            for slow, quick in ((events, none), (both, events))
        ]
        rates = [spread(rates, 0) for rates in (none, events, both)]
        rows.append([case.title, *rates, f"{median(both) / median(none):.2f}", *added])
    cost = ("part left", "events add, µs", "counts add, µs")
    head = ("", "without triggers, /s", "with events', /s", "and with counts', /s", *cost)
    return [*table(("with counts' triggers", *TARGETS[1:]), verdicts), *table(head, rows)]


def imports(found: Imports) -> list[str]:
    """Whether a document of a larger import costs more, and what an import takes."""
    small, *_, large = found
    growth = large.cost_ms / small.cost_ms
    memory = (large.peak - small.peak) / MB
    head = ("imported", "documents/s", "command, ms", "database, ms", "both, ms", "memory, MB")
    rows = [
        [
            one.title,
            f"{one.documents / one.seconds:,.0f}",
            *(f"{ms:.2f}" for ms in (one.ms(one.command), one.ms(one.database), one.cost_ms)),
            f"{one.peak / MB:,.0f}",
        ]
        for one in found
    ]
    verdicts = [
        at_most("the largest import over the smallest", growth, IMPORT),
        at_most("memory of the largest over the smallest's", memory, IMPORT_MEMORY, " MB"),
    ]
    return [*table(TARGETS, verdicts), *table(head, rows)]
