"""Measures the service and its peers, and writes docs/performance.md: `make bench`."""

import argparse
import sys
from dataclasses import replace

from bench import page, report
from bench.loading import SCALES
from bench.measuring import CONNECTIONS
from bench.rounds import AMONG, measure_all
from bench.servers import WORKERS
from bench.stack import Stack
from bench.traffic import ENDPOINTS, USES


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the service and its peers.")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--duration", type=float, help="seconds of one measurement")
    options = parser.parse_args()
    scale = SCALES[options.scale]
    rounds, seconds = options.rounds or scale.rounds, options.duration or scale.seconds
    scale = replace(scale, rounds=rounds, seconds=seconds)
    stack = Stack("bench")
    stack.set_as_in_production()
    stack.load(scale)
    costs, latencies, ratios = measure_all(stack, scale)
    compared = [m for name in ENDPOINTS for rounds in costs[name].values() for m in rounds]
    text = page.write(
        stack,
        "performance.md",
        smoke="A smoke test: its numbers mean nothing." if scale.name == "small" else "",
        scale=scale,
        comparison=report.comparison(costs),
        costs=report.endpoints(costs),
        latencies=report.latencies(latencies),
        growth=report.growth(costs["lists"], costs["/me"]),
        lists=report.cases(costs["lists"]),
        searches=report.searches(costs["searches"], costs["lists"]),
        me=report.cases(costs["/me"]),
        downloads=report.downloads(ratios),
        busy=max(m.client / m.seconds for m in compared),
        among=min(AMONG, scale.workspaces),
        uses=USES,
        connections=CONNECTIONS,
        workers=WORKERS,
    )
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
