"""The results in words and tables: Markdown."""

from collections.abc import Iterable, Sequence
from statistics import median

from bench import targets
from bench.comparison import Results, Spread, savings
from bench.growth import Growth
from bench.history import History
from bench.importing import Import, Imports
from bench.latency import Latencies
from bench.measuring import Measurement
from bench.servers import Servers
from bench.stack import MB
from bench.targets import Verdict
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS
from bench.writers import Writers


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A Markdown table, the columns after the first `words` ones aligned to the right."""
    line = "|" + "---|" * words + "---:|" * (len(head) - words)
    return [f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median, and from where to where the rounds went."""
    found = Spread.of(values)
    low, high = f"{found.least:,.{digits}f}", f"{found.most:,.{digits}f}"
    return (
        f"{found.median:,.{digits}f}"
        if low == high
        else (f"{found.median:,.{digits}f} ({low} to {high})")
    )


def comparison(results: Results) -> list[str]:
    """Requests a second as ratios, with their targets, and processor time likewise."""
    rows = []
    for endpoint in ENDPOINTS.values():
        for peer, variant in VARIANTS.items():
            if (endpoint.name, peer) in results and (endpoint.name, "ours") in results:
                if peer == "ours":
                    continue
                verdict = targets.against(results, endpoint.name, peer)
                saved = spread(savings(results, endpoint.name, "ours", peer))
                rows.append([endpoint.title, variant.title, *verdict.cells[1:], saved])
    head = ("endpoint", "against", "target", "requests/s", "", "processor time")
    return table(head, rows, words=2)


def costs(results: Results) -> list[str]:
    """What each endpoint costs with each variant."""
    head = ("endpoint", "variant", "requests/s", "server, ms", "database, ms", "Redis, ms")
    rows = [
        [
            ENDPOINTS[endpoint].title,
            VARIANTS[variant].title,
            spread([m.rate for m in rounds], 0),
            spread([m.server_ms for m in rounds]),
            spread([m.database_ms for m in rounds]),
            spread([m.redis_ms for m in rounds]),
        ]
        for (endpoint, variant), rounds in results.items()
    ]
    return table(head, rows, words=2)


def waiting(latencies: Latencies) -> list[str]:
    head = ("half of what serves", "requests/s", "variant", "median, ms", "99th percentile, ms")
    rows = [
        [
            VARIANTS[pace].title,
            spread([w.rate for w in rounds], 0),
            VARIANTS[variant].title,
            spread([1000 * w.median for w in rounds]),
            spread([1000 * w.late for w in rounds]),
        ]
        for (pace, variant), rounds in latencies.items()
    ]
    return table(head, rows, words=3)


def _times(many: Sequence[Measurement], few: Sequence[Measurement]) -> float:
    """What one case costs as a multiple of another: round by round, for machines have moods."""
    return median(a.cost_ms / b.cost_ms for a, b in zip(many, few, strict=True))


def beside(found: Growth) -> list[float]:
    """What each case costs as a multiple of what the median case of the same round does."""
    usual = [median(m.cost_ms for m in cases) for cases in zip(*found.values(), strict=True)]
    return [
        median(m.cost_ms / base for m, base in zip(rounds, usual, strict=True))
        for rounds in found.values()
    ]


def cases(found: Growth | Servers) -> list[str]:
    """Case by case."""
    head = ("", "server, ms", "database, ms", "both, ms", "requests/s")
    rows = [
        [
            case,
            spread([m.server_ms for m in rounds]),
            spread([m.database_ms for m in rounds]),
            spread([m.cost_ms for m in rounds]),
            spread([m.rate for m in rounds], 0),
        ]
        for case, rounds in found.items()
    ]
    return table(head, rows)


def history(found: History) -> list[str]:
    head = ("first screen of", "few entries, ms", "many entries, ms", "many / few")
    rows = [
        [
            name,
            spread([m.cost_ms for m in few], 1),
            spread([m.cost_ms for m in many], 1),
            f"{_times(many, few):.2f}",
        ]
        for name, (few, many) in found.items()
    ]
    return table(head, rows)


def grown(lists: Growth, me: Growth, read: History) -> list[str]:
    """Whether the cost stays as it is, with the targets."""
    listed = beside(lists)
    small, large = me.values()
    screens = [_times(many, few) for few, many in read.values()]
    verdicts: list[Verdict] = [
        targets.at_most("the dearest list over the cheapest", listed, min(listed), targets.LISTS),
        targets.at_most("the larger `/me` over the smaller", [_times(large, small)], 1, targets.ME),
        targets.at_most("the audit history's dearest growth", screens, 1, targets.HISTORY),
    ]
    return table(("cost", "target", "measured", ""), [v.cells for v in verdicts])


def writing(found: Writers) -> list[str]:
    """What writers pay for the counts of `/me`."""
    head = ("writers at once", "without counts, /s", "with, /s", "part left", "added, µs")
    rows = []
    for writers in dict.fromkeys(writers for writers, _ in found):
        kept, plain = median(found[writers, True]), median(found[writers, False])
        rows.append(
            [
                f"{writers}",
                spread(found[writers, False], 0),
                spread(found[writers, True], 0),
                f"{kept / plain:.2f}",
                f"{1e6 * writers * (1 / kept - 1 / plain):,.0f}",
            ]
        )
    return table(head, rows)


def imported(found: Imports) -> list[str]:
    """Whether an import of more documents takes more of each, and what it takes."""
    verdicts = [
        targets.at_most("the largest import over the smallest", found.growth(), 1, targets.IMPORT),
        targets.no_more(
            "memory of the largest beyond the smallest's", found.memory(), targets.IMPORT_MEMORY
        ),
    ]
    head = ("imported", "documents/s", "command, ms", "database, ms", "both, ms", "memory, MB")
    rows = [_imported(f"{documents:,}", rounds) for documents, rounds in found.lines.items()]
    return [
        *table(("cost", "target", "measured", ""), [v.cells for v in verdicts]),
        *table(head, rows),
    ]


def _imported(what: str, rounds: Sequence[Import]) -> list[str]:
    return [
        what,
        spread([one.rate for one in rounds], 0),
        spread([one.command_ms for one in rounds]),
        spread([one.database_ms for one in rounds]),
        spread([one.cost_ms for one in rounds]),
        spread([one.peak / MB for one in rounds], 0),
    ]
