"""Measures the service beside its peers: `make bench`, or `python -m bench` with options."""

import argparse
from dataclasses import replace

from bench import stack
from bench.comparison import compare
from bench.databases import loaded
from bench.loading.identity import Secret, workspaces
from bench.report import table
from bench.scale import SCALES
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS


def chosen(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the service beside its peers.")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--duration", type=float, help="seconds of one measurement")
    parser.add_argument("--only", type=chosen, help=f"some of {','.join(ENDPOINTS)}")
    parser.add_argument("--variants", type=chosen, help=f"some of {','.join(VARIANTS)}")
    options = parser.parse_args()
    scale = SCALES[options.scale]
    scale = replace(
        scale,
        rounds=options.rounds or scale.rounds,
        seconds=options.duration or scale.seconds,
    )
    parts = stack.provide()
    everyone = workspaces(scale, Secret.of(parts.folder))
    variants = [VARIANTS[name] for name in options.variants or VARIANTS]
    endpoints = [ENDPOINTS[name] for name in options.only or ENDPOINTS]
    main_database = loaded(parts, scale, "main")
    results = compare(parts, main_database, scale, everyone[1:], variants, endpoints)
    print("\n".join(table(results)))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
