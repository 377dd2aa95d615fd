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
from bench.faults.node import Node, clean, serving
from bench.faults.overload import apart, crowded, overload, rising, soak
from bench.faults.verdict import Seen
from bench.loading import FAULTS as SCALE
from bench.stack import Stack

PACKAGES = "django djangorestframework psycopg granian boto3 redis"
SHORT = "redis-killed postgres-killed store-killed worker-killed application-down slow-bodies \
slow-bodies-alone"
FURTHER = {"overload", "soak"}  # what is no fault, and not in the short form


class Run:
    """What is found, in the order in which it is found.

    Args:
        names: of faults and of `FURTHER`.
    """

    def __init__(self, stack: Stack, names: set[str], *, short: bool, minutes: float) -> None:
        self._stack, self._names, self._short, self._minutes = stack, names, short, minutes
        self._seen: dict[Fault, Seen] = {}
        self._lines: list[str] = []  # of what is no fault
        self._promises: list[list[str]] = []  # what is broken, of each

    async def go(self) -> None:
        """Inflicts the faults, each setup's on one node."""
        task = asyncio.current_task()
        assert task  # noqa: S101 - this one
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        for setup in (BEHIND_NGINX, BY_PROXY, ALONE):
            faults = [f for f in FAULTS if f.setup == setup and f.name in self._names]
            further = self._names & FURTHER if setup == BEHIND_NGINX else set()
            if faults or further:
                log(f"{setup} …")
                by_nginx, by_proxy = setup != ALONE, setup == BY_PROXY
                with serving(self._stack, by_nginx=by_nginx, by_proxy=by_proxy) as node:
                    node.data = await asyncio.to_thread(learn, node.port)
                    for fault in faults:
                        await self._inflict(fault, node)
                    await self._further(node, further)
        compare_with_audit_log(self._stack, self._seen.values())

    async def _inflict(self, fault: Fault, node: Node) -> None:
        all_of_them = len(self._names - FURTHER)
        log(f"{len(self._seen) + 1} of {all_of_them}: {fault.title} ({fault.name}) …")
        try:
            seen = await inflict(fault, node, short=self._short)
        except (RuntimeError, TimeoutError) as exc:  # an instance or a service does not return
            seen = Seen(broken=[str(exc)])
        self._seen[fault] = seen
        for fact in [*seen.facts, *fault.promise.broken(seen)]:
            log(f"  {fact}")

    async def _further(self, node: Node, names: set[str]) -> None:
        if "overload" in names:
            log("overload …")
            with apart(self._stack):
                findings = [await overload(node)]
            findings.append(await crowded(node))
            self._lines += report.overload(findings)
            self._promises += [each.broken for each in findings]
        if "soak" in names:
            log(f"{self._minutes:g} minutes of mixed load …")
            samples, outcomes = await soak(node, self._minutes)
            self._lines += report.soak(self._minutes, samples, outcomes)
            self._promises.append(rising(samples, outcomes))

    def broken(self) -> list[list[str]]:
        """What is broken of each promise."""
        return [fault.promise.broken(s) for fault, s in self._seen.items()] + self._promises

    def tables(self) -> list[str]:
        return [*report.faults(self._seen), *self._lines]


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
    run = Run(stack, names, short=options.short, minutes=options.soak)
    try:
        uvloop.run(run.go())
    finally:  # a run that is interrupted leaves no service stopped
        for process in stack.processes():
            process.resume()
    if options.only:
        sys.stdout.write("\n".join(run.tables()))
        return
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()  # noqa: S607
    text = page.write(
        stack,
        "reliability.md",
        PACKAGES,
        smoke="The short form: a smoke test." if options.short else "",
        nginx=nginx.removeprefix("nginx version: "),
        rate=FAULTS[0].rate,
        held=sum(not each for each in run.broken()),
        all=len(run.broken()),
        tables=run.tables(),
    )
    log(f"after {time.monotonic() - started:.0f} s")
    if options.short and any(run.broken()):
        sys.stdout.write(text)
        sys.exit("A promise does not hold.")


if __name__ == "__main__":
    main()
