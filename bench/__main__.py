"""Measures the service and its peers, and writes docs/performance.md: `make bench`.

A part of it only prints its table:

    python -m bench --scale small --only list25,me --variants ours,starlette --rounds 3 --duration 2
"""

import argparse
import sys
from dataclasses import replace
from typing import TypeVar

from bench import growth, log, report, stack
from bench.comparison import AMONG, Comparison
from bench.downloads import ratios
from bench.launch import ROOT
from bench.loading.identity import workspaces
from bench.page import page
from bench.scale import SCALES
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS, serving

T = TypeVar("T")


def _some(named: dict[str, T], names: str | None) -> dict[str, T]:
    return {name: named[name] for name in names.split(",")} if names else named


def measure_all(parts: stack.Stack, compared: Comparison) -> str:
    """Returns the whole page."""
    main, scale = compared.database, compared.scale
    results, ours = compared.run(), {"ours": VARIANTS["ours"]}
    with serving(parts, main, ours) as server:
        lists, me = growth.grow(parts, main, scale, server["ours"], workspaces(scale)[: AMONG + 1])
    tables = {
        "comparison": report.comparison(results),
        "costs": report.costs(results),
        "latencies": report.latencies(compared.latencies),
        "growth": report.growth(lists, me),
        "lists": report.cases(lists),
        "me": report.cases(me),
        "downloads": ratios.table(ratios.measure(scale)),
    }
    return page(parts, scale, results, tables)


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
    parts = stack.provide()
    compared = Comparison(
        parts,
        parts.loaded(scale),
        scale,
        workspaces(scale)[1:],
        _some(VARIANTS, options.variants),
        _some(ENDPOINTS, options.only),
    )
    if options.only or options.variants:
        sys.stdout.write("\n".join(report.costs(compared.run())))
        return
    text = measure_all(parts, compared)
    # A smoke test's page stays out of docs/.
    folder = ROOT / "docs" if scale.name == "full" else parts.folder / scale.name
    folder.mkdir(exist_ok=True)
    (folder / "performance.md").write_text(text)
    sys.stdout.write(text)
    log(f"written: {folder / 'performance.md'}")


if __name__ == "__main__":
    main()
