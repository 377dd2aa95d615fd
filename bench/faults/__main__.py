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
from contextlib import AbstractContextManager
from pathlib import Path

import uvloop

from bench import log
from bench.faults import audit_log, data, page, services
from bench.faults.catalogue import ALONE, BEHIND_NGINX, BY_PROXY, FAULTS, Fault
from bench.faults.data import Data
from bench.faults.inflict import inflict
from bench.faults.node import Node, clean, serving
from bench.faults.overload import apart, crowded, overload
from bench.faults.soak import soak
from bench.faults.verdict import Seen
from bench.launch import ROOT
from bench.page import machine

PACKAGES = "django djangorestframework psycopg granian boto3 redis"
SECONDS = 12.0  # of each measurement of overload
FURTHER = ("overload", "soak")  # what is no fault, and not in the short form
NODES: dict[str, AbstractContextManager[Node]] = {
    BEHIND_NGINX: serving(2, by_nginx=True),
    BY_PROXY: serving(2, by_nginx=True, by_proxy=True),
    ALONE: serving(1, by_nginx=False),
}


class Run:
    """What is found, in the order in which it is found.

    Args:
        names: of faults and of `FURTHER`.
    """

    def __init__(self, names: set[str], *, short: bool, minutes: float) -> None:
        self._names, self._short, self._minutes = names, short, minutes
        self._seen: dict[Fault, Seen] = {}
        self._keys = data.create()
        self._data: Data | None = None
        self._lines: list[str] = []  # of what is no fault
        self._promises: list[list[str]] = []  # what is broken, of each

    async def go(self) -> None:
        """Inflicts the faults, each setup's on one node."""
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGTERM,
            asyncio.current_task().cancel,  # type: ignore[union-attr]
        )
        chosen = [fault for fault in FAULTS if fault.name in self._names]
        for name, node in NODES.items():
            faults = [fault for fault in chosen if fault.setup == name]
            if faults or (name == BEHIND_NGINX and self._names & set(FURTHER)):
                log(f"{name} …")
                with node as serves:
                    self._data = self._data or await asyncio.to_thread(
                        data.learn, serves.port, self._keys
                    )
                    await self._on(serves, faults, len(chosen))
                    if name == BEHIND_NGINX:
                        await self._further(serves)
        audit_log.compare(self._seen.values())

    async def _on(self, node: Node, faults: list[Fault], all_of_them: int) -> None:
        assert self._data  # noqa: S101 - learned
        for fault in faults:
            log(f"{len(self._seen) + 1} of {all_of_them}: {fault.title} ({fault.name}) …")
            try:
                seen = await inflict(fault, node, self._data, short=self._short)
            except (RuntimeError, TimeoutError) as exc:  # an instance or a service does not return
                seen = Seen([], [], [], 0.0, broken=[str(exc)])
            self._seen[fault] = seen
            for fact in [*seen.facts, *fault.promise.broken(seen)]:
                log(f"  {fact}")

    async def _further(self, node: Node) -> None:
        assert self._data  # noqa: S101 - learned
        if "overload" in self._names:
            log("overload …")
            with apart():
                loaded = await overload(node, self._data, SECONDS)
            shared = await crowded(node, self._data, SECONDS)
            self._lines += page.overload_table(loaded, shared)
            self._promises += [loaded.broken(), shared.broken()]
        if "soak" in self._names:
            log(f"{self._minutes:g} minutes of mixed load …")
            samples, outcomes = await soak(node, self._data, self._minutes)
            self._lines += page.soak_table(self._minutes, samples, outcomes)
            self._promises.append(page.soak_broken(samples, outcomes))

    def broken(self) -> list[list[str]]:
        """What is broken of each promise."""
        return [fault.promise.broken(s) for fault, s in self._seen.items()] + self._promises

    def text(self) -> str:
        """The page."""
        nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()  # noqa: S607
        with services.administrator() as connection:
            found = machine(connection, PACKAGES)
        held = [not each for each in self.broken()]
        tables = "\n".join([*page.fault_tables(self._seen), *self._lines])
        return page.page(
            found,
            short=self._short,
            rate=FAULTS[0].rate,
            nginx=nginx.removeprefix("nginx version: "),
            held=sum(held),
            all=len(held),
            tables=tables,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Breaks one part after the other under load.")
    parser.add_argument("--short", action="store_true", help="a smoke test of a minute")
    parser.add_argument("--only", help="some names, separated by commas; prints the tables")
    parser.add_argument("--soak", type=float, default=20, help="minutes of mixed load at the end")
    options = parser.parse_args()
    names = {f.name for f in FAULTS if f.short or not options.short}
    names |= set() if options.short or not options.soak else set(FURTHER)
    if options.only:
        names = set(options.only.split(","))
        if unknown := names - {f.name for f in FAULTS} - set(FURTHER):
            parser.error(f"no such fault: {', '.join(unknown)}")
    os.environ["PATH"] += ":/usr/sbin"  # where Debian installs nginx
    started = time.monotonic()
    services.provide()
    data.set_up()
    clean()
    run = Run(names, short=options.short, minutes=options.soak)
    try:
        uvloop.run(run.go())
    finally:
        services.resume()
    text = run.text()
    if options.only:
        sys.stdout.write(text)
        return
    # A smoke test's page stays out of docs/.
    folder: Path = services.FOLDER if options.short else ROOT / "docs"
    (folder / "reliability.md").write_text(text)
    log(f"written: {folder / 'reliability.md'}, after {time.monotonic() - started:.0f} s")
    if options.short and any(run.broken()):
        sys.stdout.write(text)
        sys.exit("A promise does not hold.")


if __name__ == "__main__":
    main()
