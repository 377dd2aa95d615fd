"""What importing costs, by how many documents the file has: `manage.py import_documents`.

The documents and their files are in place already, and the command uploads nothing. A document
that is not there cannot be had without: its original always goes into the store.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median

from bench.agreement import Disagreement
from bench.launch import started
from bench.loading.importable import LINES
from bench.processor import TICK, spent
from bench.progress import say
from bench.scale import Scale
from bench.stack import MB, Stack

PARTS = (0.1, 0.3, 1)  # of the largest import
ROUNDS = 1  # at most: one takes five minutes
LOOK = 0.05  # seconds between two looks at the command's memory


@dataclass(frozen=True)
class Import:
    """One import of `documents` in `seconds`.

    Attributes:
        command, database: processor time, in seconds.
        peak: bytes of memory that the command had at most.
    """

    documents: int
    seconds: float
    command: float
    database: float
    peak: int

    def beyond(self, start: "Import") -> "Import":
        """The same without the processor time of an import of no documents."""
        return replace(
            self,
            command=max(self.command - start.command, TICK),
            database=max(self.database - start.database, TICK),
        )

    @property
    def rate(self) -> float:
        """Documents a second."""
        return self.documents / self.seconds

    @property
    def cost(self) -> float:
        """Seconds of processor time of command and database together."""
        return self.command + self.database

    @property
    def command_ms(self) -> float:
        """Milliseconds of processor time a document."""
        return 1000 * self.command / self.documents

    @property
    def database_ms(self) -> float:
        return 1000 * self.database / self.documents

    @property
    def cost_ms(self) -> float:
        return 1000 * self.cost / self.documents


@dataclass(frozen=True)
class Imports:
    """What was measured, for each round.

    Attributes:
        start: imports of no documents.
        lines: by how many documents, one a line; without the processor time of `start`.
    """

    start: list[Import]
    lines: dict[int, list[Import]]

    def growth(self) -> list[float]:
        """Processor time of a document of the largest imports over one of the smallest."""
        small, *_, large = self.lines.values()
        return [median(many.cost_ms / few.cost_ms for few, many in zip(small, large, strict=True))]

    def memory(self) -> float:
        """Megabytes that the largest imports take more than the smallest."""
        small, *_, large = self.lines.values()
        least = median(one.peak for one in small)
        return (median(one.peak for one in large) - least) / MB


def _peak(pid: int) -> int:
    """Bytes that a process has had at most; 0 of one that has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0


def _import(stack: Stack, database: str, workspace: str, file: Path, documents: int) -> Import:
    """Runs the command.

    Raises:
        Disagreement: it did not do what is to be measured.
    """
    environment = {"DATABASE_URL": stack.url(database)}
    command = [sys.executable, "manage.py", "import_documents", workspace, str(file)]
    before, begun, peak, pid = spent(stack.postgres), time.monotonic(), 0, 0
    with started(command, environment, subprocess.PIPE) as process:
        while not pid:
            time.sleep(LOOK)
            peak = max(peak, _peak(process.pid))
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
        process.returncode = os.waitstatus_to_exitcode(status)
        said, _ = process.communicate()
    took = time.monotonic() - begun
    if process.returncode or json.loads(said) != {"created": 0, "updated": documents, "files": 0}:
        raise Disagreement(f"import of {documents:,} documents: {process.returncode}, {said!r}")
    return Import(
        documents,
        took,
        used.ru_utime + used.ru_stime,
        spent(stack.postgres) - before,
        peak,
    )


def _files(folder: Path, total: int) -> Iterator[tuple[Path, int]]:
    """Files to import, each with its number of documents."""
    for documents in (0, *(int(part * total) for part in PARTS)):
        file = folder / f"{documents}.jsonl"
        with (folder / LINES).open("rb") as lines, file.open("wb") as some:
            some.writelines(islice(lines, documents))
        yield file, documents


def measure(stack: Stack, database: str, scale: Scale) -> Imports:
    """Imports each file, in turn."""
    rounds = min(scale.rounds, ROUNDS)
    with tempfile.TemporaryDirectory() as name, stack.connect(database) as connection:
        stack.run(database, "-m", "bench.loading.importable", name)
        files = list(_files(Path(name), scale.imported))
        row = connection.execute("SELECT id::text FROM workspaces_workspace").fetchone()
        assert row is not None  # noqa: S101 - the loader made it
        found: dict[Path, list[Import]] = {file: [] for file, _ in files}
        _import(stack, database, row[0], *files[0])  # the first one may compile modules
        for number in range(1, rounds + 1):
            for file, documents in files:
                say(f"import, round {number} of {rounds}: {file.name}")
                # Each begins alike: without the rows that the one before has replaced.
                connection.execute("VACUUM")
                found[file].append(_import(stack, database, row[0], file, documents))
    start, *lines = found.values()
    beyond = [
        [one.beyond(base) for one, base in zip(imports, start, strict=True)] for imports in lines
    ]
    return Imports(start, {imports[0].documents: imports for imports in beyond})
