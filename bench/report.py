"""The results in Markdown: docs/performance.md and docs/reliability.md."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from bench import log
from bench.loading import ROOT
from bench.rounds import GROWTH, LARGE_FILE, Costs
from bench.servers import DRF, NGINX, OURS, STARLETTE
from bench.stack import Stack
from bench.traffic import DETAIL, LIST25, LIST100, ME

PACKAGES = (
    "django",
    "djangorestframework",
    "psycopg",
    "msgspec",
    "granian",
    "gunicorn",
    "starlette",
    "asyncpg",
    "hiredis",
)
# Requests a second as multiples of the peers', at least.
TARGETS = {
    LIST25: {STARLETTE: 0.70, DRF: 11},
    LIST100: {STARLETTE: 0.93, DRF: 12},
    DETAIL: {STARLETTE: 0.60, DRF: 13},
    ME: {STARLETTE: 0.55, DRF: 13},
    LARGE_FILE: {NGINX: 0.4},
}


# In docs/reliability.md, `make drill-several` writes what follows.
SEVERAL = "\n## Several machines\n"


class Row(NamedTuple):
    """A target (≤ or ≥), and what was measured in each round."""

    what: str
    against: str
    sign: str
    target: float
    measured: list[float]


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A table, the columns after the first `words` ones aligned to the right."""
    line = "|" + "---|" * words + "---:|" * (len(head) - words)
    return [f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def spread(values: Sequence[float], digits: int = 2) -> str:
    middle, low, high = (f"{f(values):,.{digits}f}" for f in (median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def judged(rows: Sequence[Row], slack: float) -> tuple[list[str], list[str]]:
    """The table of the targets, and those that are missed.

    A target holds if the median of the rounds reaches it, made easier by `slack`.
    """
    lines, failed = [], []
    for what, against, sign, target, found in rows:
        times = median(found) / target if sign == "≤" else target / median(found)
        missed = times > slack
        shown = spread(found, 1 if target >= 5 else 2)
        lines.append(
            [what, against, f"{sign} {target:g}", shown, "**missed**" if missed else "holds"]
        )
        if missed:
            failed.append(f"{what}, {against}: {shown}")
    return table(("what", "against", "target", "measured", ""), lines, words=5), failed


def targets(costs: Costs) -> list[Row]:
    """All targets; the ratios are of each round, since the machine varies."""
    rows = []
    for endpoint, others in TARGETS.items():
        for other, target in others.items():
            pairs = list(zip(costs[endpoint][OURS], costs[endpoint][other], strict=True))
            rates = [a.rate / b.rate for a, b in pairs]
            rows.append(Row(endpoint, f"requests/s of {other}", "≥", target, rates))
    for case, (base, target) in GROWTH.items():
        pairs = list(zip(costs[case][OURS], costs[base][OURS], strict=True))
        times = [(a.server + a.database) / (b.server + b.database) for a, b in pairs]
        rows.append(Row(f"`{case}`", base, "≤", target, times))
    return rows


def measured(costs: Costs) -> list[str]:
    rows = [
        [f"`{case}`", variant, *map(spread, zip(*rounds, strict=True))]
        for case, variants in costs.items()
        for variant, rounds in sorted(variants.items())
    ]
    head = ("", "variant", "server, ms", "database, ms", "Redis, ms", "requests/s")
    return table(head, rows, words=2)


def commit(folder: Path) -> str:
    """Of a checkout; "-dirty" if the tree has other changes, "" if it is none."""
    git = ["git", "-C", str(folder), "describe", "--always", "--abbrev=12", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip()  # noqa: S603


def write(stack: Stack, name: str, *, smoke: str = "", **parts: object) -> str:
    """Writes the page from its template; out of docs/ if `smoke` says why it means nothing."""
    processor = re.search(r"model name\t: (.*)", Path("/proc/cpuinfo").read_text())
    with stack.connect() as connection:
        postgres = connection.info.parameter_status("server_version")
    versions = [f"Python {platform.python_version()}", f"PostgreSQL {postgres}"]
    versions += [f"{package} {version(package)}" for package in PACKAGES]
    page = (ROOT / "bench" / name).read_text()
    page = page.format(
        date=datetime.now(UTC),
        commit=commit(ROOT),
        processor=processor[1] if processor else platform.machine(),
        cores=os.cpu_count(),
        memory=psutil.virtual_memory().total / 2**30,
        linux=platform.release().split("-")[0],
        packages=", ".join(versions),
        warning=f"**{smoke}**\n\n" if smoke else "",
        **{k: "\n".join(v) if isinstance(v, list) else v for k, v in parts.items()},
    )
    file = (stack.folder if smoke else ROOT / "docs") / name
    file.write_text(page)
    log(f"written: {file}")
    return page
