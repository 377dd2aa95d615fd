"""Measures the service and its peers, and writes docs/performance.md: `make bench`."""

import argparse
import os
import sys
from dataclasses import replace

import django

from bench import report
from bench.loading import FULL, SMALL
from bench.rounds import CONNECTIONS, measure_all
from bench.servers import THREADS, VARIANTS, WORKERS
from bench.stack import Stack
from bench.traffic import USES


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the service and its peers.")
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    scale = SMALL if options.scale == "small" else FULL
    scale = replace(scale, rounds=options.rounds or scale.rounds)
    stack = Stack("bench")
    stack.set_as_in_production()
    stack.load(scale)
    costs = measure_all(stack, scale, VARIANTS)
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from bench import searches  # which imports models

    searched, of_searches = searches.measure(scale)
    targets, failed = report.judged([*report.targets(costs), *of_searches], scale.slack)
    smoke = "A smoke test: its numbers mean nothing." if scale.name == "small" else ""
    numbers = {"uses": USES, "connections": CONNECTIONS, "workers": WORKERS, "threads": THREADS}
    numbers["times"] = searches.ROUNDS * scale.rounds
    tables = {"targets": targets, "searches": searched, "measured": report.measured(costs)}
    text = report.write(stack, "performance.md", smoke=smoke, scale=scale, **tables, **numbers)
    sys.stdout.write(text)
    if failed:
        sys.exit("Targets that are missed: " + "; ".join(failed))


if __name__ == "__main__":
    main()
