"""One fault under load: before, during, and after until everything is healthy again."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterable

import psycopg

from bench import log
from bench.client import Client, Outcome
from bench.faults.catalogue import Fault
from bench.faults.data import KEYS
from bench.faults.node import Node
from bench.faults.verdict import Seen, good, seconds_until_healthy
from bench.processes import ROOT
from bench.stack import Stack

LIMIT = 60.0  # seconds after the end of the fault, healthy or not
ENTRIES = """
    SELECT request_id, array_agg((bytes_sent, detail)::text) FROM audit_auditentry
    WHERE action = %s AND request_id = ANY(%s) GROUP BY request_id
"""


async def inflict(fault: Fault, node: Node, *, short: bool) -> Seen:
    """Returns what clients saw."""
    requests = {
        "mixed": lambda: node.data.mixed(),
        "many": lambda: node.data.mixed(KEYS),
        "neighbour": node.data.neighbour,
    }[fault.load]()
    before = (1.0 if short else 5.0) if fault.promise.ratio else 2.0
    seconds = min(fault.seconds, 3.0) if short else fault.seconds
    settled = 1.0 if short else 3.0
    node.facts, node.broken = [], []
    outcomes: list[Outcome] = []
    client = Client(node.port)
    load = asyncio.create_task(client.at_rate(requests, fault.rate, outcomes.append))
    try:
        await asyncio.sleep(before)
        async with contextlib.AsyncExitStack() as undo:
            began = time.monotonic()
            during = fault.during(node)
            await asyncio.to_thread(during.__enter__)
            undo.push_async_exit(lambda *_: asyncio.to_thread(during.__exit__, None, None, None))
            await asyncio.sleep(seconds)
        ended = time.monotonic()
        while (now := time.monotonic()) < ended + LIMIT:
            bad = [o.due + o.seconds for o in outcomes if not good(o)]
            if now > max([ended, *bad]) + settled and client.in_flight <= 1 + fault.rate:
                break
            await asyncio.sleep(0.1)
    finally:
        load.cancel()
    await client.close()
    healthy = seconds_until_healthy(outcomes, ended)
    log(f"  healthy {healthy:.1f} s after the end of the fault")
    return Seen(
        [o for o in outcomes if o.due < began],
        [o for o in outcomes if began <= o.due < ended],
        [o for o in outcomes if o.due >= ended],
        healthy,
        node.facts,
        node.broken,
    )


def _entries(connection: psycopg.Connection, action: str, ids: list[str]) -> dict[str, list[str]]:
    """The bytes and words of the entries of these requests."""
    return dict(connection.execute(ENTRIES, [action, ids]).fetchall())


def compare_with_audit_log(stack: Stack, every: Iterable[Seen]) -> None:
    """Fills in what the audit log lacks of the complete downloads that clients saw."""
    for downloads in stack.folder.glob("nginx-*/logs/downloads.log"):  # of those that nginx served
        with downloads.open() as file:
            command = [sys.executable, "manage.py", "record_download_completions"]
            subprocess.run(command, cwd=ROOT, stdin=file, stdout=subprocess.PIPE, check=True)  # noqa: S603
    with stack.connect() as connection:
        for seen in every:
            sizes = {
                o.request_id: o.size
                for o in (*seen.before, *seen.during, *seen.after)
                if o.endpoint == "download" and o.right
            }
            started = _entries(connection, "document.downloaded", list(sizes))
            ended = _entries(connection, "document.download_ended", list(sizes))
            lacks = {
                "downloads not recorded": len(sizes.keys() - started),
                "completions not recorded": len(sizes.keys() - ended),
                # Several, or one that does not have the whole file's size.
                "wrong completions": sum(
                    found != [f'({sizes[each]},"whole file")'] for each, found in ended.items()
                ),
            }
            seen.downloads = len(sizes)
            seen.lost = [f"{count} {what}" for what, count in lacks.items() if count]
