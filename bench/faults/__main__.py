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
import time

import uvloop

from bench import log, page
from bench.faults import database, report
from bench.faults.catalogue import ALONE, BEHIND_NGINX, BY_PROXY, FAULTS, Fault
from bench.faults.data import learn
from bench.faults.inflict import compare_with_audit_log, inflict
from bench.faults.node import clean, serving
from bench.faults.overload import apart, crowded, overload, rising, soak
from bench.faults.verdict import Seen
from bench.loading import FAULTS as SCALE
from bench.stack import Stack

PACKAGES = "django djangorestframework psycopg granian boto3 redis"
SHORT = "redis-killed postgres-killed store-killed worker-killed application-down slow-bodies \
slow-bodies-alone"
FURTHER = {"overload", "soak"}  # what is no fault, and not in the short form


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
                lines += report.overload(findings)
                promises += [each.broken for each in findings]
            if "soak" in further:
                log(f"{minutes:g} minutes of mixed load …")
                samples, outcomes = await soak(node, minutes)
                lines += report.soak(minutes, samples, outcomes)
                promises.append(rising(samples, outcomes))
    compare_with_audit_log(stack, seen.values())
    broken = [fault.promise.broken(found) for fault, found in seen.items()]
    return [*report.faults(seen), *lines], broken + promises


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
    started = time.monotonic()
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
        PACKAGES,
        smoke="The short form: a smoke test." if options.short else "",
        nginx=nginx.removeprefix("nginx version: "),
        rate=FAULTS[0].rate,
        held=sum(not each for each in broken),
        all=len(broken),
        tables=tables,
    )
    log(f"after {time.monotonic() - started:.0f} s")
    if options.short and any(broken):
        sys.stdout.write(text)
        sys.exit("A promise does not hold.")


if __name__ == "__main__":
    main()
