"""The pages that the benchmarks write, docs/performance.md and docs/reliability.md, in Markdown."""

import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median

import psutil
import redis

from bench import log
from bench.servers import ROOT
from bench.stack import Stack

PACKAGES = (
    "django djangorestframework psycopg msgspec granian boto3 redis gunicorn starlette asyncpg \
hiredis uvloop"
)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> list[str]:
    """A table, the columns after the first `words` ones aligned to the right."""
    line = "|" + "---|" * words + "---:|" * (len(head) - words)
    return [f"| {' | '.join(head)} |", line, *(f"| {' | '.join(row)} |" for row in rows), ""]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The median of the rounds, and the least and the most."""
    middle, low, high = (f"{f(values):,.{digits}f}" for f in (median, min, max))
    return middle if low == high else f"{middle} ({low} to {high})"


def machine(stack: Stack) -> dict[str, object]:
    """The machine, the versions, and the commit; "-dirty" if the tree has other changes."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    git = ["git", "describe", "--always", "--abbrev=12", "--dirty"]
    with stack.connect() as connection:
        postgres = connection.info.parameter_status("server_version")
    return {
        "date": datetime.now(UTC),
        "commit": subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip(),  # noqa: S603
        "processor": cpuinfo.partition("model name\t: ")[2].partition("\n")[0]
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory": psutil.virtual_memory().total / 2**30,
        "linux": platform.release().split("-")[0],
        "python": platform.python_version(),
        "postgres": postgres,
        "redis": redis.Redis.from_url(os.environ["REDIS_URL"]).info("server")["redis_version"],
        "packages": ", ".join(f"{package} {version(package)}" for package in PACKAGES.split()),
    }


def write(stack: Stack, name: str, *, smoke: str = "", **parts: object) -> str:
    """Writes the page from the template of that name beside this file, and returns it.

    Args:
        smoke: why its numbers mean nothing; then it stays out of docs/.
        parts: of the template; a list is lines.
    """
    text = {k: "\n".join(v) if isinstance(v, list) else v for k, v in parts.items()}
    warning = f"**{smoke}**\n\n" if smoke else ""
    template = (ROOT / "bench" / name).read_text()
    page = template.format(**machine(stack), **text, warning=warning)
    file = (stack.folder if smoke else ROOT / "docs") / name
    file.write_text(page)
    log(f"written: {file}")
    return page
