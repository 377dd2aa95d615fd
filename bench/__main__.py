"""Measures the service and its peers, and writes docs/performance.md: `make bench`.

A part of it only prints its table:

    python -m bench --scale small --only list25,me --variants ours,starlette --rounds 3
"""

import argparse
import sys
from dataclasses import replace
from typing import TypeVar

from bench import downloads, growth, page, report
from bench.comparison import AMONG, Comparison
from bench.loading import workspaces
from bench.measuring import CONNECTIONS
from bench.scale import SCALES
from bench.stack import Stack
from bench.traffic import ENDPOINTS, USES
from bench.variants import VARIANTS, WORKERS, serving

T = TypeVar("T")
PACKAGES = "django djangorestframework psycopg msgspec granian gunicorn starlette asyncpg hiredis \
uvloop"


def _some(named: dict[str, T], names: str | None) -> dict[str, T]:
    return {name: named[name] for name in names.split(",")} if names else named


def measure_all(compared: Comparison) -> str:
    """Writes the whole page, and returns it."""
    stack, scale, loaded = compared.stack, compared.scale, workspaces(compared.scale)
    results = compared.run()
    with serving({"ours": VARIANTS["ours"]}) as servers:
        lists, me = growth.grow(stack, scale, servers["ours"], loaded[: AMONG + 1])
        found = downloads.measure(stack, scale, servers["ours"], loaded[0])
    return page.write(
        stack,
        "performance.md",
        PACKAGES,
        smoke="A smoke test: its numbers mean nothing." if scale.name == "small" else "",
        scale=scale,
        comparison=report.comparison(results),
        costs=report.costs(results),
        latencies=report.latencies(compared.latencies),
        growth=report.growth(lists, me),
        lists=report.cases(lists),
        me=report.cases(me),
        downloads=downloads.table(found),
        busy=max(m.client / m.seconds for rounds in results.values() for m in rounds),
        among=min(AMONG, scale.workspaces),
        uses=USES,
        connections=CONNECTIONS,
        workers=WORKERS,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the service and its peers.")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--duration", type=float, help="seconds of one measurement")
    parser.add_argument("--only", help=f"some of {','.join(ENDPOINTS)}")
    parser.add_argument("--variants", help=f"some of {','.join(VARIANTS)}")
    options = parser.parse_args()
    scale = SCALES[options.scale]
    rounds, seconds = options.rounds or scale.rounds, options.duration or scale.seconds
    scale = replace(scale, rounds=rounds, seconds=seconds)
    stack = Stack("bench")
    stack.set_as_in_production()
    stack.load(scale)
    variants, endpoints = _some(VARIANTS, options.variants), _some(ENDPOINTS, options.only)
    compared = Comparison(stack, scale, workspaces(scale)[1:], variants, endpoints)
    if options.only or options.variants:
        sys.stdout.write("\n".join(report.costs(compared.run())))
    else:
        sys.stdout.write(measure_all(compared))


if __name__ == "__main__":
    main()
