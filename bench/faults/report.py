"""What was found, as tables."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from bench.client import Outcome, counts
from bench.faults.catalogue import Fault
from bench.faults.overload import SOAK_RATE, TIMES, Finding, Samples, ms, rising
from bench.faults.verdict import ENDPOINTS, Seen
from bench.page import table


def cell(seen: Seen, endpoint: str) -> str:
    """What clients saw of an endpoint."""
    found = [o for o in seen.during if o.endpoint == endpoint]
    return f"{counts(found)}; {ms(found)}" if found else "–"


def verdict(broken: Sequence[str]) -> str:
    return f"**no**: {'; '.join(broken)}" if broken else "yes"


def row(fault: Fault, seen: Seen) -> list[str]:
    """One line of a table."""
    lost = ", ".join(seen.lost) or f"nothing of {seen.downloads} downloads"
    medians = [f"median {seen.ratio:.1f} × undisturbed"] if fault.promise.ratio else []
    return [
        f"{fault.title} ({fault.name})",
        *(cell(seen, endpoint) for endpoint in ENDPOINTS),
        f"{seen.healthy:.1f} s",
        lost if seen.downloads else "–",
        "; ".join([*seen.facts, *medians]) or "–",
        str(fault.promise),
        verdict(fault.promise.broken(seen)),
    ]


def faults(results: Mapping[Fault, Seen]) -> list[str]:
    """A table for each setup."""
    head = ("fault", *ENDPOINTS, "healthy after", "lost", "found", "promise", "holds")
    lines: list[str] = []
    for setup, group in groupby(results, key=lambda fault: fault.setup):
        rows = [row(fault, results[fault]) for fault in group]
        lines += [f"## {setup[0].upper()}{setup[1:]}", "", *table(head, rows, len(head))]
    return lines


def overload(findings: Sequence[Finding]) -> list[str]:
    """Overload, and one workspace that sends most of the requests."""
    rows = [[each.load, each.found, each.promise, verdict(each.broken)] for each in findings]
    words = (
        f"The best rate is that of a closed loop. While it is measured, and while {TIMES} times as "
        "much is sent, the client has one core to itself, and the node the others. What the "
        "client's connections cannot take is unsent."
    )
    return ["## Overload", "", words, "", *table(("load", "found", "promise", "holds"), rows, 4)]


def soak(minutes: float, samples: Samples, outcomes: Sequence[Outcome]) -> list[str]:
    """Each instance's resources at the beginning, in the middle and at the end."""
    rows = [
        [f"{number}", when, *(f"{value:.0f}" for value in sample.values())]
        for number, instance in enumerate(zip(*samples, strict=True), 1)
        for when, sample in zip(("beginning", "middle", "end"), instance, strict=True)
    ]
    return [
        f"## {minutes:g} minutes of mixed load",
        "",
        f"{SOAK_RATE:g} requests a second: {counts(outcomes)}; {ms(outcomes)}. Flat: "
        f"{verdict(rising(samples, outcomes))}.",
        "",
        *table(("instance", "", *samples[0][0]), rows, 2),
    ]
