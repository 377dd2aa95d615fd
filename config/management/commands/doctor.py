"""doctor [--root FOLDER] [--tls HOST:PORT]"""

import logging
import sys
import threading
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections
from django.urls import get_resolver

from config.console.system import Fact, Part, machine, parts

# Seconds for a part. What it waits for has shorter time-outs; the rest is for a busy machine.
PATIENCE = 10.0
MARKS = {"ok": "✓", "warn": "!", "bad": "✗", "": " "}


class Command(BaseCommand):
    help = (
        "Checks this installation: one line for each fact, ✓ or what to do. The exit status is 1 "
        "if something is wrong (✗), and 0 with warnings (!). With -v 0 it prints only these."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--root", default="/", help="the folder in which etc and var are")
        parser.add_argument(
            "--tls", default="127.0.0.1:443", help="where nginx shows its certificate"
        )

    def handle(self, *, root: str, tls: str, verbosity: int, **options: Any) -> None:
        logging.disable()  # the facts say why
        get_resolver().url_patterns  # noqa: B018 - loads all modules, which is no part's delay
        host, _, port = tls.rpartition(":")
        states: Counter[str] = Counter()
        for part in [*parts("doctor"), *machine.doctor_parts(Path(root), (host, int(port)))]:
            for fact in read(part):
                states[fact.state] += 1
                if fact.is_problem or verbosity:
                    self.stdout.write(line(part, fact))
        self.stdout.write(f"Problems: {states['bad']}, warnings: {states['warn']}")
        if states["bad"]:
            sys.exit(1)


def read(part: Part) -> list[Fact]:
    """The part's facts. One that is silent is left behind, in a thread of its own."""
    found: list[Fact] = []

    def run() -> None:
        found.extend(part.facts())
        connections.close_all()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive() and not found:
        return [part.failed(f"no response in {PATIENCE:.0f} seconds")]
    return found


def line(part: Part, fact: Fact) -> str:
    """One line: `✗ Migrations, Pending: audit.0004_late. Run: deploy/manage migrate`."""
    remedy = f". {fact.remedy}" if fact.is_problem and fact.remedy else ""
    text = f"{MARKS[fact.state]} {part.name_of(fact)}: {fact.text.rstrip('.')}{remedy}"
    return " ".join(text.splitlines())
