"""The page that the benchmark writes: docs/performance.md."""

import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil
import psycopg
import redis

from bench.comparison import AMONG, Results
from bench.launch import ROOT
from bench.measuring import CONNECTIONS
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import USES
from bench.variants import WORKERS

PACKAGES = "django djangorestframework psycopg msgspec granian gunicorn starlette asyncpg \
hiredis uvloop"
PAGE = """# Performance

{warning}Written by `make bench` on {date:%Y-%m-%d}, at commit {commit}.

- Machine: {processor}, {cores} cores, {memory:.0f} GiB, Linux {linux}. Servers, database and \
client share it.
- Python {python}, PostgreSQL {postgres}, Redis {redis}
- {packages}
- Loaded: one workspace of {scale.documents:,} documents, {scale.workspaces} of \
{scale.documents_each:,}, three recipients each

Every number is the median of the rounds ({scale.rounds}), in which the variants took turns; in \
brackets the least and the most. What counts are the ratios within one run and the processor \
time: requests a second depend on the machine.

## Compared with others

Requests a second as a multiple of the other's, and the other's processor time a request (server \
and database) as a multiple of this service's:

{comparison}
{costs}
## Latency at a fixed rate (list, limit 25)

{latencies}
## A cost that does not grow

{growth}
Lists (limit 25), of the large workspace unless another is named:

{lists}
{me}
## Downloads

A file that the application sends itself, and curl with a signed URL of the same object, in turn. \
Between them are the checks of the request, the entry in the audit log, which is committed before \
the first byte, and the file's digest. `python -m bench.downloads` also measures those that nginx \
serves, memory, and what downloads leave to other requests.

{downloads}
## How it is measured

- All variants serve with {workers} worker processes, over the same tables, keys and rate limit, \
and respond with the same JSON: every response that is requested later was compared field by \
field, and so was its next page. Each variant also refused an unknown key, and a key used more \
than 300 times a minute.
- {connections} connections send the next request as soon as a response is complete, for \
{scale.seconds:g} s after a warm-up. A response counts when it is a 200 and its body is, byte for \
byte, the one that was compared. The client is a process of its own and took at most {busy:.0%} of \
one core.
- Requests go to {among} workspaces of {scale.documents_each:,} documents in turn; each key is \
used {uses} times.
- Processor time is that of the whole process tree, from `/proc`: of the server, of PostgreSQL \
with the connections that have ended, and of Redis.
- Each worker process is kept to one core, as the units keep it, with all variants.
- A server whose workers share the work unevenly is measured again over new connections.
- Latency is measured at a fixed rate, from when a request was due.
- Stock DRF is run by gunicorn (4 threads a process). Raw Starlette, run by granian, is tuned by \
hand: asyncpg, msgspec structs, and hiredis, which the others run without. Services in other \
languages can be quicker.
- A target holds if the whole interval of the rounds reaches it, and fails if none of it does; \
otherwise it is undecided.
"""


def machine(database: psycopg.Connection, packages: str) -> Mapping[str, object]:
    """The machine, the versions, and the commit; "-dirty" if the tree has other changes."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    git = ["git", "describe", "--always", "--abbrev=12", "--dirty"]
    return {
        "commit": subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip(),  # noqa: S603
        "processor": cpuinfo.partition("model name\t: ")[2].partition("\n")[0]
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory": psutil.virtual_memory().total / 2**30,
        "linux": platform.release().split("-")[0],
        "python": platform.python_version(),
        "postgres": database.info.parameter_status("server_version"),
        "redis": redis.Redis.from_url(os.environ["REDIS_URL"]).info("server")["redis_version"],
        "packages": ", ".join(f"{package} {version(package)}" for package in packages.split()),
    }


def page(
    stack: Stack,
    scale: Scale,
    results: Results,
    tables: Mapping[str, list[str]],
) -> str:
    """The whole page, in Markdown; `tables` by their names in PAGE."""
    with stack.connect("postgres") as connection:
        found = machine(connection, PACKAGES)
    return PAGE.format(
        **found,
        **{name: "\n".join(lines) for name, lines in tables.items()},
        scale=scale,
        warning="**A smoke test: its numbers mean nothing.**\n\n" if scale.name == "small" else "",
        date=datetime.now(UTC),
        busy=max(m.client / m.seconds for rounds in results.values() for m in rounds),
        among=min(AMONG, scale.workspaces),
        uses=USES,
        connections=CONNECTIONS,
        workers=WORKERS,
    )
