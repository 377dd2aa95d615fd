"""Breaks one part after the other under load, and writes docs/reliability.md: `make faults`.

A part of it only prints its tables:

    python -m bench.faults --only redis-killed,overload
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby

import uvloop

from bench import log, page
from bench.client import Outcome, counts
from bench.faults import database
from bench.faults.catalogue import ALONE, BEHIND_NGINX, BY_PROXY, FAULTS, Fault
from bench.faults.data import learn
from bench.faults.inflict import compare_with_audit_log, inflict
from bench.faults.node import clean, serving
from bench.faults.overload import (
    SOAK_RATE,
    TIMES,
    Finding,
    Samples,
    apart,
    crowded,
    ms,
    overload,
    rising,
    soak,
)
from bench.faults.verdict import ENDPOINTS, Seen, ratio
from bench.loading import FAULTS as SCALE
from bench.page import table
from bench.stack import Stack

SHORT = "redis-killed postgres-killed store-killed worker-killed application-down slow-bodies \
slow-bodies-alone"
FURTHER = {"overload", "soak"}  # what is no fault, and not in the short form


def cell(seen: Seen, endpoint: str) -> str:
    """What clients saw of an endpoint."""
    found = [o for o in seen.during if o.endpoint == endpoint]
    return f"{counts(found)}; {ms(found)}" if found else "–"


def verdict(broken: Sequence[str]) -> str:
    return f"**no**: {'; '.join(broken)}" if broken else "yes"


def row(fault: Fault, seen: Seen) -> list[str]:
    """One line of a table."""
    lost = ", ".join(seen.lost) or f"nothing of {seen.downloads} downloads"
    times = f"median {ratio(seen.before, seen.during):.1f} × undisturbed"
    facts = [*seen.facts, *([times] if fault.promise.ratio else [])]
    return [
        f"{fault.title} ({fault.name})",
        *(cell(seen, endpoint) for endpoint in ENDPOINTS),
        f"{seen.healthy:.1f} s",
        lost if seen.downloads else "–",
        "; ".join(facts) or "–",
        str(fault.promise),
        verdict(fault.promise.broken(seen)),
    ]


def fault_tables(results: Mapping[Fault, Seen]) -> list[str]:
    """A table for each setup."""
    head = ("fault", *ENDPOINTS, "healthy after", "lost", "found", "promise", "holds")
    lines: list[str] = []
    for setup, group in groupby(results, key=lambda fault: fault.setup):
        rows = [row(fault, results[fault]) for fault in group]
        lines += [f"## {setup[0].upper()}{setup[1:]}", "", *table(head, rows, len(head))]
    return lines


def overload_table(findings: Sequence[Finding]) -> list[str]:
    """Overload, and one workspace that sends most of the requests."""
    rows = [[*row, verdict(broken)] for row, broken in findings]
    words = (
        f"The best rate is that of a closed loop. While it is measured, and while {TIMES} times as "
        "much is sent, the client has one core to itself, and the node the others. What the "
        "client's connections cannot take is unsent."
    )
    return ["## Overload", "", words, "", *table(("load", "found", "promise", "holds"), rows, 4)]


def soak_table(minutes: float, samples: Samples, outcomes: Sequence[Outcome]) -> list[str]:
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


async def inflict_all(
    stack: Stack, names: set[str], *, short: bool, minutes: float
) -> tuple[list[str], list[list[str]]]:
    """Inflicts the faults, each setup's on one node.

    Args:
        names: of faults and of `FURTHER`.

    Returns:
        The tables, and what is broken of each promise.
    """
    task = asyncio.current_task()
    assert task  # noqa: S101 - this one
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    seen: dict[Fault, Seen] = {}
    lines: list[str] = []  # of what is no fault
    promises: list[list[str]] = []
    for setup in (BEHIND_NGINX, BY_PROXY, ALONE):
        faults = [fault for fault in FAULTS if fault.setup == setup and fault.name in names]
        further = names & FURTHER if setup == BEHIND_NGINX else set()
        if not faults and not further:
            continue
        log(f"{setup} …")
        by_nginx, by_proxy = setup != ALONE, setup == BY_PROXY
        with serving(stack, by_nginx=by_nginx, by_proxy=by_proxy) as node:
            node.data = await asyncio.to_thread(learn, node.port)
            for fault in faults:
                log(f"{len(seen) + 1} of {len(names - FURTHER)}: {fault.title} ({fault.name}) …")
                try:
                    seen[fault] = await inflict(fault, node, short=short)
                except (RuntimeError, TimeoutError) as exc:  # something does not return
                    seen[fault] = Seen(broken=[str(exc)])
                for fact in [*seen[fault].facts, *fault.promise.broken(seen[fault])]:
                    log(f"  {fact}")
            if "overload" in further:
                log("overload …")
                with apart(stack):
                    findings = [await overload(node)]
                findings.append(await crowded(node))
                lines += overload_table(findings)
                promises += [broken for _, broken in findings]
            if "soak" in further:
                log(f"{minutes:g} minutes of mixed load …")
                samples, outcomes = await soak(node, minutes)
                lines += soak_table(minutes, samples, outcomes)
                promises.append(rising(samples, outcomes))
    compare_with_audit_log(stack, seen.values())
    broken = [fault.promise.broken(found) for fault, found in seen.items()]
    return [*fault_tables(seen), *lines], broken + promises


def main() -> None:
    parser = argparse.ArgumentParser(description="Breaks one part after the other under load.")
    parser.add_argument("--short", action="store_true", help="a smoke test of a minute")
    parser.add_argument("--only", help="some names, separated by commas; prints the tables")
    parser.add_argument("--soak", type=float, default=20, help="minutes of mixed load at the end")
    options = parser.parse_args()
    known = {fault.name for fault in FAULTS} | (FURTHER if options.soak else set())
    names = set(SHORT.split()) if options.short else known
    if options.only:
        names = set(options.only.split(","))
        if unknown := names - known:
            parser.error(f"no such fault: {', '.join(unknown)}")
    os.environ["PATH"] += ":/usr/sbin"  # where Debian installs nginx
    stack = Stack("faults")
    database.reset(stack)
    stack.load(SCALE)
    clean(stack.folder)
    try:
        tables, broken = uvloop.run(
            inflict_all(stack, names, short=options.short, minutes=options.soak)
        )
    finally:  # a run that is interrupted leaves no service stopped
        for process in stack.processes():
            process.resume()
    if options.only:
        sys.stdout.write("\n".join(tables))
        return
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()  # noqa: S607
    text = page.write(
        stack,
        "reliability.md",
        smoke="The short form: a smoke test." if options.short else "",
        nginx=nginx.removeprefix("nginx version: "),
        rate=FAULTS[0].rate,
        held=sum(not each for each in broken),
        all=len(broken),
        tables=tables,
    )
    if options.short and any(broken):
        sys.stdout.write(text)
        sys.exit("A promise does not hold.")


if __name__ == "__main__":
    main()
