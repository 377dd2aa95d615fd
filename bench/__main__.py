"""Measures the service beside its peers, and writes docs/performance.md: `make bench`.

To try something out, a part of it, whose table is only printed:

    python -m bench --scale small --only list25,me --variants ours,fastapi --rounds 3 --duration 2
"""

import argparse
import sys
from dataclasses import replace

from bench import growth, history, importing, page, report, servers, stack, writers
from bench.comparison import AMONG, Comparison
from bench.databases import loaded
from bench.launch import ROOT
from bench.loading.identity import Secret, workspaces
from bench.progress import say
from bench.scale import SCALES, Scale
from bench.traffic import ENDPOINTS
from bench.variants import VARIANTS, serving


def chosen(text: str) -> list[str]:
    return text.split(",")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the service beside its peers.")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--duration", type=float, help="seconds of one measurement")
    parser.add_argument("--only", type=chosen, help=f"some of {','.join(ENDPOINTS)}")
    parser.add_argument("--variants", type=chosen, help=f"some of {','.join(VARIANTS)}")
    return parser.parse_args()


def everything(parts: stack.Stack, scale: Scale, compared: Comparison) -> None:
    """The whole page; that of a smoke test stays out of docs/."""
    main, few = compared.database, loaded(parts, scale, "few")
    large, *small = workspaces(scale, Secret.of(parts.folder))
    results, ours = compared.run(), [VARIANTS["ours"]]
    under = servers.serve(parts, main, scale, compared.learned["list25"]["ours"])
    with serving(parts, main, ours) as server, serving(parts, few, ours) as server_of_few:
        lists, me = growth.grow(parts, main, scale, server["ours"], large, small[:AMONG])
        read = history.read(parts, server_of_few["ours"], server["ours"], scale)
    written = writers.write(parts, few, scale)
    imports = importing.measure(parts, loaded(parts, scale, "imports"), scale)
    found = page.Found(results, under, compared.latencies, lists, me, read, written, imports)
    lines = page.page(parts, scale, found)
    folder = ROOT / "docs" if scale.name == "full" else parts.folder / scale.name
    sys.stdout.write("\n".join(lines))
    say(f"written: {page.write(folder, lines, results)}")


def main() -> None:
    options = arguments()
    scale = SCALES[options.scale]
    scale = replace(
        scale, rounds=options.rounds or scale.rounds, seconds=options.duration or scale.seconds
    )
    parts = stack.provide()
    compared = Comparison(
        parts,
        loaded(parts, scale, "main"),
        scale,
        workspaces(scale, Secret.of(parts.folder))[1:],
        [VARIANTS[name] for name in options.variants or VARIANTS],
        [ENDPOINTS[name] for name in options.only or ENDPOINTS],
    )
    if options.only or options.variants:
        sys.stdout.write("\n".join(report.costs(compared.run())))
    else:
        everything(parts, scale, compared)


if __name__ == "__main__":
    main()
