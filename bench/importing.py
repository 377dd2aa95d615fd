"""The cost of `manage.py import_documents`, by the number of documents in the file.

The documents and their files exist already, and the command uploads nothing. The import of a new
document always uploads its original.
"""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bench import log
from bench.agreement import Disagreement, body
from bench.launch import started
from bench.loading.documents import pdf
from bench.loading.identity import workspaces
from bench.measuring import TICK, spent
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import pages
from bench.variants import VARIANTS, serving

LINES, PDF = "documents.jsonl", "document.pdf"
TYPES = ("original", "signed", "certificate")
PARTS = (0.1, 0.3, 1)  # of the largest import
INTERVAL = 0.05  # seconds between two readings of the command's memory


@dataclass(frozen=True)
class Import:
    """One import of `documents` in `seconds`."""

    title: str
    documents: int
    seconds: float
    command: float  # seconds of processor time
    database: float
    peak: int  # bytes of memory that the command had at most

    def ms(self, *parts: float) -> float:
        """Milliseconds a document of some parts' processor time."""
        return 1000 * sum(parts) / self.documents

    @property
    def cost_ms(self) -> float:
        """Processor time of command and database together, in milliseconds a document."""
        return self.ms(self.command, self.database)

    def without(self, start: "Import") -> "Import":
        """The same without the processor time of an import of no documents."""
        command = max(self.command - start.command, TICK)
        return replace(self, command=command, database=max(self.database - start.database, TICK))


Imports = list[Import]  # by size


def peak_memory(pid: int) -> int:
    """Bytes that a process has had at most; 0 if it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


def _import(stack: Stack, database: str, file: Path, documents: int, title: str) -> Import:
    """Runs the command.

    Raises:
        Disagreement: it did not do what is to be measured.
    """
    log(f"import: {title}")
    with stack.connect(database) as connection:
        # Each begins alike: without the rows that the one before has replaced.
        connection.execute("VACUUM")
        [[workspace]] = connection.execute("SELECT id::text FROM workspaces_workspace")
    command = [sys.executable, "manage.py", "import_documents", workspace, str(file)]
    before, begun, peak, pid = spent(stack.postgres), time.monotonic(), 0, 0
    environment = {"DATABASE_URL": stack.url(database)}
    with started(command, environment, subprocess.PIPE) as process:
        while not pid:
            time.sleep(INTERVAL)
            peak = max(peak, peak_memory(process.pid))
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        output, _ = process.communicate()
    took = time.monotonic() - begun
    if process.returncode or json.loads(output) != {"created": 0, "updated": documents, "files": 0}:
        raise Disagreement(f"import of {documents:,} documents: {process.returncode}, {output!r}")
    processor_time = used.ru_utime + used.ru_stime
    return Import(title, documents, took, processor_time, spent(stack.postgres) - before, peak)


def write_lines(folder: Path, get: Callable[[str], bytes]) -> None:
    """Writes all documents as the API lists them, and beside them the PDF of their files."""
    (folder / PDF).write_bytes(pdf())
    with (folder / LINES).open("w") as lines:
        for page in pages(get):
            for document in page["data"]:
                types = TYPES if document["status"] == "COMPLETED" else TYPES[:1]
                lines.write(json.dumps(document | {"files": dict.fromkeys(types, PDF)}) + "\n")


def _files(folder: Path, total: int) -> Iterator[tuple[Path, int, str]]:
    """Files to import, each with its number of documents."""
    for documents in (0, *(int(part * total) for part in PARTS)):
        file = folder / f"{documents}.jsonl"
        with (folder / LINES).open("rb") as lines, file.open("wb") as some:
            some.writelines(itertools.islice(lines, documents))
        yield file, documents, f"{documents:,}"


def measure(stack: Stack, database: str, scale: Scale) -> tuple[Import, Imports]:
    """Imports each file once, as it takes five minutes.

    Returns:
        An import of no documents, and the others without its processor time.
    """
    [workspace], requests = workspaces(scale.imports), itertools.count()
    with tempfile.TemporaryDirectory() as name:
        with serving(stack, database, {"ours": VARIANTS["ours"]}) as servers:
            stack.prepare(database)
            ours = servers["ours"]
            write_lines(Path(name), lambda path: body(ours, workspace, path, next(requests)))
        empty, *files = _files(Path(name), scale.imports.documents)
        _import(stack, database, *empty)  # the first one may compile modules
        start = _import(stack, database, *empty)
        return start, [_import(stack, database, *file).without(start) for file in files]
