"""The page that the benchmark writes: docs/performance.md, and its picture."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from bench import machine, report
from bench.comparison import AMONG, Results
from bench.growth import Growth
from bench.history import History
from bench.importing import Imports
from bench.latency import Latencies
from bench.measuring import CONNECTIONS
from bench.plot import plot
from bench.scale import Scale
from bench.servers import Servers
from bench.stack import MB, Stack
from bench.traffic import USES
from bench.variants import WORKERS
from bench.writers import Writers

PICTURE = "performance.svg"


@dataclass(frozen=True)
class Found:
    """All results of one run."""

    results: Results
    servers: Servers
    latencies: Latencies
    lists: Growth
    me: Growth
    history: History
    writers: Writers
    imports: Imports


def _head(stack: Stack, scale: Scale) -> list[str]:
    return [
        "# Performance",
        "",
        *(["**A smoke test: its numbers mean nothing.**", ""] if scale.name == "small" else []),
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}, at commit {machine.commit()}.",
        "",
        *machine.described(stack),
        f"- Loaded: one workspace of {scale.documents:,} documents, {scale.workspaces} of "
        f"{scale.documents_each:,}, three recipients each; {scale.entries:,} audit entries",
        "",
        f"Every number is the median of {scale.rounds} rounds, in which the variants took turns; "
        "in brackets the least and the most. What counts are the ratios within one run, and the "
        "processor time a request: requests a second depend on the machine.",
        "",
    ]


def _method(scale: Scale, results: Results) -> list[str]:
    busy = max(m.client / m.seconds for rounds in results.values() for m in rounds)
    return [
        "## How it is measured",
        "",
        f"- All variants serve with {WORKERS} worker processes, over the same tables, keys and "
        "rate limit, and answer the same JSON: every answer that is asked for later was compared "
        "field by field, and where its cursor leads. Each variant also refused an unknown key, "
        "and a key used more than 300 times a minute.",
        f"- {CONNECTIONS} connections send the next request as soon as an answer is whole, for "
        f"{scale.seconds:g} s after a warm-up. An answer counts when it is a 200 and its body is, "
        "byte for byte, the one that was compared. The client is a process of its own and took "
        f"at most {busy:.0%} of one core.",
        f"- Requests go to {min(AMONG, scale.workspaces)} workspaces of {scale.documents_each:,} "
        f"documents in turn; each key is used {USES} times.",
        "- Processor time is that of the whole process tree, from `/proc`: of the server, and of "
        "PostgreSQL with the connections that have ended, and of Redis.",
        "- A server whose workers share the work unevenly is asked anew over new connections.",
        "- Waiting is measured at a fixed rate, from when a request was due.",
        "- Stock DRF is run by gunicorn (4 threads a process), FastAPI by uvicorn; the floor is a "
        "bare WSGI function with one SQL statement, in which PostgreSQL builds the JSON, under "
        "the same server as this service.",
        "",
    ]


def _import(found: Imports) -> list[str]:
    start = found.start
    return [
        "## Import",
        "",
        "`manage.py import_documents` with a file of documents that are there already, as the API "
        "lists them, each with three recipients. Everything is checked and then written anew, in "
        "one transaction. Nothing is uploaded: the files are in place, and all are the same small "
        "PDF. (A document that is new cannot do without an upload.) An import of no documents "
        f"takes {1000 * median(one.cost for one in start):,.0f} ms of processor time and "
        f"{median(one.peak for one in start) / MB:,.0f} MB; that time is taken off, and the rest "
        f"is shown for each document. Rounds: {len(start)}.",
        "",
        *report.imported(found),
    ]


def page(stack: Stack, scale: Scale, found: Found) -> list[str]:
    """The whole page, as lines of Markdown."""
    return [
        *_head(stack, scale),
        "## Beside others",
        "",
        "Requests a second as a multiple of the other's, and the other's processor time a request "
        "(server and database) as a multiple of this service's:",
        "",
        *report.comparison(found.results),
        f"![Requests a second and processor time]({PICTURE})",
        "",
        *report.costs(found.results),
        "## Waiting, at a fixed rate (list, limit 25)",
        "",
        *report.waiting(found.latencies),
        "## Under which server (list, limit 25)",
        "",
        *report.cases(found.servers),
        "## A cost that does not grow",
        "",
        *report.grown(found.lists, found.me, found.history),
        "Lists (limit 25), of the large workspace where nothing else is said:",
        "",
        *report.cases(found.lists),
        *report.cases(found.me),
        f"The audit history in the admin, with {scale.entries_few:,} and with {scale.entries:,} "
        "entries; processor time of server and database:",
        "",
        *report.history(found.history),
        "What writers pay for the counts of `/me`: transactions a second, half of which make a "
        "document and half change its status, all in one workspace. They run inside PostgreSQL "
        "and do not wait for the disk, so that nothing else hides it. The counts stayed exact.",
        "",
        *report.writing(found.writers),
        *_import(found.imports),
        *_method(scale, found.results),
    ]


def write(folder: Path, lines: list[str], results: Results) -> Path:
    """Writes page and picture into a folder; returns where the page is."""
    folder.mkdir(exist_ok=True)
    (folder / PICTURE).write_text(plot(results))
    file = folder / "performance.md"
    file.write_text("\n".join(lines).rstrip() + "\n")
    return file
