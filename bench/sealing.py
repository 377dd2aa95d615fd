"""The cost of the audit log's tree: `python -m bench.sealing`, also part of `make bench`.

How long it takes to seal and to verify all entries, what a proof costs, and what writers of
entries lose while a sealer runs. Writes docs/performance-audit.md.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from bench import log, report, stack
from bench.importing import INTERVAL, peak_memory
from bench.launch import ROOT, started
from bench.page import machine
from bench.scale import SCALES, Scale
from bench.stack import MB, Stack

KEY = "PRIVATE+KEY+bench.example/audit+8cfd0064+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
VERIFY_SECONDS = 180.0  # for ten million entries, at most
PROOFS = 1000  # that are made
WRITERS = (1, 8)
EMPTY = """
    ALTER TABLE {table} DISABLE TRIGGER USER; TRUNCATE {table};
    ALTER TABLE {table} ENABLE TRIGGER USER; ALTER TABLE {table} ENABLE ALWAYS TRIGGER
    audit_append_only
"""
TREE = ("audit_leaf", "audit_subtree", "audit_checkpoint")
# As a download writes it, one transaction each; inside PostgreSQL, so that only its work counts.
WRITE = """
    DO $$ BEGIN
        FOR number IN 1..{entries} LOOP
            INSERT INTO audit_auditentry (action, workspace_id, workspace_name, person, member,
                    detail, key_id, key_name, key_prefix, document_id, document_title, file_type,
                    file_sha256, byte_range, address, user_agent, request_id)
                VALUES ('document.downloaded', gen_random_uuid(), 'Acme', '', '', '',
                    gen_random_uuid(), 'Nightly copy', 'dtd_12345678', gen_random_uuid(), 'Lease',
                    'signed', repeat('0', 64), '', '198.51.100.7', 'curl/8', md5(number::text));
            COMMIT;
        END LOOP;
    END $$
"""
PROVE = f"""
import random, time
from audit.models import Leaf
from audit.tree.stored import StoredTree
size = Leaf.objects.count()
choice = random.Random(1)
lengths, started = [], time.process_time()
for index in [choice.randrange(size) for _ in range({PROOFS})]:
    lengths.append(32 * len(StoredTree().proof(index, size)))
print(max(lengths), (time.process_time() - started) * 1000 / {PROOFS})
"""
PAGE = """# Performance of the audit log's tree

{warning}Written by `python -m bench.sealing` on {date:%Y-%m-%d}, at commit {commit}.

{processor}, {cores} cores, {memory:.0f} GiB, Linux {linux}, Python {python}, PostgreSQL \
{postgres}. The database is on the same machine.

{entries:,} entries, all in one tree.

{costs}
A proof has at most {proof} bytes of hashes, and takes {milliseconds:.1f} ms of the command's \
processor time with nothing cached.

## What writers lose

Entries a second that writers add while a sealer seals them every second, as a fraction of what \
they add without one; the median of {rounds} rounds, and the least and the most. The \
sealer works beside them on the same {cores} cores; each commit waits for the disk.

{writers}"""


@dataclass(frozen=True)
class Run:
    """A command that ran for `seconds`, with `peak` bytes of memory at most."""

    seconds: float
    peak: int


def variables(stack: Stack, database: str) -> dict[str, str]:
    """The environment of a command on the database."""
    return {
        **{name: stack.url(database, name) for name in ("DATABASE_URL", "DATABASE_OWNER_URL")},
        "AUDIT_SIGNING_KEY": KEY,
        "AUDIT_WITNESSES": f"file:{stack.folder / 'checkpoints'}",
    }


def run(environment: Mapping[str, str], *words: str) -> Run:
    """Runs manage.py; its output is shown."""
    began, peak = time.monotonic(), 0
    command = [sys.executable, "manage.py", *words]
    with started(command, environment) as process:
        while process.poll() is None:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(INTERVAL)
    if process.returncode:
        raise SystemExit(f"manage.py {' '.join(words)} failed")
    return Run(time.monotonic() - began, peak)


def empty_tree(stack: Stack, database: str) -> None:
    (stack.folder / "checkpoints").unlink(missing_ok=True)
    with stack.connect(database) as connection:
        for table in TREE:
            connection.execute(EMPTY.replace("{table}", table).encode())


def write(stack: Stack, database: str, writers: int, entries: int) -> float:
    """Entries a second that so many writers add together."""

    def add() -> None:
        with stack.connect(database) as connection:
            connection.execute(WRITE.replace("{entries}", str(entries // writers)).encode())

    began = time.monotonic()
    with ThreadPoolExecutor(writers) as pool:
        for future in [pool.submit(add) for _ in range(writers)]:
            future.result()
    return entries / (time.monotonic() - began)


@contextlib.contextmanager
def sealing(environment: Mapping[str, str]) -> Iterator[None]:
    """A sealer that seals every second."""
    command = [sys.executable, "manage.py", "seal_audit", "--follow", "--every", "1"]
    with started(command, environment, stdout=subprocess.DEVNULL):
        time.sleep(3)
        yield


def compare_writers(
    stack: Stack, database: str, scale: Scale
) -> dict[int, list[tuple[float, float]]]:
    """Writers → for each round, entries a second with a sealer, and without one."""
    found: dict[int, list[tuple[float, float]]] = {each: [] for each in WRITERS}
    environment = variables(stack, database)
    for number in range(1, scale.rounds + 1):
        log(f"writers of entries, round {number} of {scale.rounds}")
        for writers, rates in found.items():
            alone = write(stack, database, writers, scale.written)
            with sealing(environment):
                rates.append((write(stack, database, writers, scale.written), alone))
    return found


def _writers_table(found: Mapping[int, Sequence[tuple[float, float]]]) -> list[str]:
    rows = [
        [
            str(writers),
            report.spread([with_sealer / alone for with_sealer, alone in rates]),
            f"{median(alone for _, alone in rates):,.0f}",
        ]
        for writers, rates in found.items()
    ]
    return report.table(("writers", "with a sealer", "entries/s without"), rows)


def measure(stack: Stack, scale: Scale) -> str:
    """The whole page."""
    main, few = stack.loaded(scale, "main"), stack.loaded(scale, "few")
    environment = variables(stack, main)
    empty_tree(stack, main)
    log(f"sealing {scale.entries:,} entries")
    sealed = run(environment, "seal_audit")
    with stack.connect(main) as connection:
        connection.execute("VACUUM (ANALYZE) audit_leaf, audit_auditentry")
    log("verifying them")
    verified = run(environment, "verify_audit", "--checkpoint", str(stack.folder / "checkpoints"))
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "manage.py", "shell", "--no-imports", "--command", PROVE],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    proof, milliseconds = done.stdout.split()
    empty_tree(stack, few)
    costs = [
        [
            name,
            f"{each.seconds:.0f}",
            f"{scale.entries / each.seconds:,.0f}",
            f"{each.peak / MB:.0f}",
        ]
        for name, each in (("seal_audit", sealed), ("verify_audit", verified))
    ]
    with stack.connect("postgres") as connection:
        found = machine(connection, "")
    rows = [report.at_most("all entries verified", verified.seconds, VERIFY_SECONDS, " s")]
    head = ("command", "seconds", "entries/s", "memory, MB")
    return PAGE.format(
        warning="" if scale.name == "full" else "**A smoke test: the numbers mean nothing.** ",
        date=datetime.now(UTC),
        **found,
        entries=scale.entries,
        costs="\n".join([*report.table(head, costs), *report.table(report.TARGETS, rows)]),
        proof=proof,
        milliseconds=float(milliseconds),
        rounds=scale.rounds,
        writers="\n".join(_writers_table(compare_writers(stack, few, scale))),
    )


def write_page(parts: Stack, scale: Scale) -> None:
    """Measures, and writes the page; that of a smoke test stays out of docs/."""
    folder = ROOT / "docs" if scale.name == "full" else parts.folder / scale.name
    folder.mkdir(exist_ok=True)
    text = measure(parts, scale)
    (folder / "performance-audit.md").write_text(text)
    sys.stdout.write(text)
    log(f"written: {folder / 'performance-audit.md'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measures the audit log's tree.")
    parser.add_argument("--scale", choices=SCALES, default="full")
    write_page(stack.provide(), SCALES[parser.parse_args().scale])
