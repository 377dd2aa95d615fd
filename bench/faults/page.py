"""The page that `make faults` writes: docs/reliability.md."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from statistics import median

from bench.faults.catalogue import Fault
from bench.faults.client import Outcome
from bench.faults.overload import ONE_WORKSPACE, RATIO, TIMES, Crowded, Overload
from bench.faults.soak import RATE, Sample
from bench.faults.verdict import ENDPOINTS, Seen, counts, ratio_of
from bench.report import table

PAGE = """# Reliability

{warning}Written by `make faults` on {date:%Y-%m-%d}, at commit {commit}.

- Machine: {processor}, {cores} cores, {memory:.0f} GiB, Linux {linux}. Instances, nginx, services \
and clients share it.
- Python {python}, PostgreSQL {postgres}, Redis {redis}, {nginx}
- {packages}

Real processes: instances (`python -m config.server`), nginx with `deploy/nginx.conf`, PostgreSQL, \
an S3 server and Redis. Services and instances are killed and stopped by signals.

The load is an open loop of {rate:g} requests a second over 16 keys of two workspaces: `/me`, \
list, detail and download in turn, one download in forty a file of 40 MB. The SHA-256 of every \
body is compared with the right one's; the audit log is compared with the complete downloads that \
clients saw. A cell has the statuses (or what went wrong) during the fault with their numbers, \
then the median and the slowest response in milliseconds. "Healthy after" is the time from the \
end of the fault to the last request whose response was not right and quick (1 s). The fault of a \
worker ends when its replacement serves.

**{held} of {all} promises hold.**

{tables}"""


def ms(outcomes: Sequence[Outcome]) -> str:
    """The median and the slowest response, in milliseconds."""
    times = [o.seconds for o in outcomes]
    return f"{1000 * median(times):,.0f}/{1000 * max(times):,.0f} ms" if times else "–"


def cell(seen: Seen, endpoint: str) -> str:
    """What clients saw of an endpoint."""
    found = [o for o in seen.during if o.endpoint == endpoint]
    return f"{counts(found)}; {ms(found)}" if found else "–"


def verdict(broken: Sequence[str]) -> str:
    return f"**no**: {'; '.join(broken)}" if broken else "yes"


def row(fault: Fault, seen: Seen) -> list[str]:
    """One line of a table."""
    audit = seen.audit
    lost = ", ".join(audit.broken()) or f"nothing of {audit.downloads} downloads"
    medians = [f"median {ratio_of(seen):.1f} × undisturbed"] if fault.promise.ratio else []
    return [
        f"{fault.title} ({fault.name})",
        *(cell(seen, endpoint) for endpoint in ENDPOINTS),
        f"{seen.healthy:.1f} s",
        lost if audit.downloads else "–",
        "; ".join([*seen.facts, *medians]) or "–",
        str(fault.promise),
        verdict(fault.promise.broken(seen)),
    ]


def fault_tables(results: Mapping[Fault, Seen]) -> list[str]:
    """A table for each setup."""
    head = ("fault", *ENDPOINTS, "healthy after", "lost", "found", "promise", "holds")
    lines: list[str] = []
    for setup, faults in groupby(results, key=lambda fault: fault.setup):
        rows = [row(fault, results[fault]) for fault in faults]
        lines += [f"## {setup[0].upper()}{setup[1:]}", "", *table(head, rows, len(head))]
    return lines


def overload_table(loaded: Overload, shared: Crowded) -> list[str]:
    """Overload, and one workspace that sends most of the requests."""
    rows = [
        [
            f"{TIMES} times the best rate",
            f"best {loaded.best:,.0f}/s, then offered {loaded.offered:,.0f}/s, served "
            f"{loaded.goodput:,.0f}/s; {counts(loaded.outcomes)}; slowest that was served "
            f"{loaded.slowest:.1f} s",
            "goodput ≥ 80 % of the best; the others are 503 with Retry-After; nobody waits longer "
            "than 2 s and then 1 s for the response",
            verdict(loaded.broken()),
        ],
        [
            f"one workspace, {ONE_WORKSPACE} connections",
            f"the other: {counts(shared.during)}; {ms(shared.during)}, median {shared.ratio:.1f} × "
            f"undisturbed; the crowd: {counts(shared.crowd)}; {ms(shared.crowd)}",
            f"the other workspace's median ≤ {RATIO:g} × undisturbed",
            verdict(shared.broken()),
        ],
    ]
    words = (
        f"The best rate is that of a closed loop. While it is measured, and while {TIMES} times as "
        "much is sent, the client has one core to itself, and the node the others. What the "
        "client's connections cannot take is unsent."
    )
    return ["## Overload", "", words, "", *table(("load", "found", "promise", "holds"), rows, 4)]


def soak_broken(samples: Sequence[Sequence[Sample]], outcomes: Sequence[Outcome]) -> list[str]:
    """What rises from the first to the last sample, and responses that are not right."""
    bad = [o for o in outcomes if o.status != 200 or o.problem]
    rising = {
        each for one, last in zip(samples[0], samples[-1], strict=True) for each in one.rises(last)
    }
    return [f"{each} rises" for each in sorted(rising)] + ([counts(bad)] if bad else [])


def soak_table(
    minutes: float, samples: Sequence[Sequence[Sample]], outcomes: Sequence[Outcome]
) -> list[str]:
    """Each instance's resources at the beginning, in the middle and at the end."""
    head = ("instance", "", "memory, MB", "threads", "descriptors", "the node's connections")
    rows = [
        [
            str(number),
            when,
            f"{s.memory:.0f}",
            str(s.threads),
            str(s.descriptors),
            str(s.connections),
        ]
        for when, all_of in zip(("beginning", "middle", "end"), samples, strict=True)
        for number, s in enumerate(all_of, 1)
    ]
    return [
        f"## {minutes:g} minutes of mixed load",
        "",
        f"{RATE:g} requests a second: {counts(outcomes)}; {ms(outcomes)}. Flat: "
        f"{verdict(soak_broken(samples, outcomes))}.",
        "",
        *table(head, sorted(rows, key=lambda each: each[0]), 2),
    ]


def page(machine: Mapping[str, object], *, short: bool, rate: float, **parts: object) -> str:
    """The whole page, in Markdown."""
    warning = "**The short form: a smoke test.**\n\n" if short else ""
    return PAGE.format(**machine, **parts, warning=warning, rate=rate, date=datetime.now(UTC))
