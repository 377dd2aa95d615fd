"""One fault under load: before, during, and after until everything is healthy again."""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import Iterable

from bench import log
from bench.client import Client, Outcome
from bench.faults.catalogue import Fault
from bench.faults.node import THREADS, Node
from bench.faults.verdict import Seen, good, seconds_until_healthy
from bench.servers import ROOT
from bench.stack import Stack

LIMIT = 60.0  # seconds after the end of the fault, healthy or not
# Of requests and the sizes of their files: how many downloads and completions are not recorded, and
# how many completions are wrong (several, or one that does not have the whole file's size).
LOST = """
    SELECT count(*) FILTER (WHERE started = 0), count(*) FILTER (WHERE ended = 0),
        count(*) FILTER (WHERE ended > 0 AND (ended > 1 OR whole = 0))
    FROM unnest(%s::text[], %s::bigint[]) AS download (request, length), LATERAL (
        SELECT count(*) FILTER (WHERE action = 'document.downloaded') AS started,
            count(*) FILTER (WHERE action = 'document.download_ended') AS ended,
            count(*) FILTER (WHERE bytes_sent = length AND detail = 'all bytes sent') AS whole
        FROM audit_auditentry WHERE request_id = request
    ) AS entries
"""


async def inflict(fault: Fault, node: Node, *, short: bool) -> Seen:
    """Returns what clients saw."""
    before = (1.0 if short else 5.0) if fault.promise.ratio else 2.0
    seconds, settled = (min(fault.seconds, 3.0), 1.0) if short else (fault.seconds, 3.0)
    node.facts, node.broken = [], []
    outcomes: list[Outcome] = []
    client = Client(node.port)
    load = asyncio.create_task(client.at_rate(fault.load(node.data), fault.rate, outcomes.append))
    try:
        await asyncio.sleep(before)
        async with contextlib.AsyncExitStack() as undo:
            began = time.monotonic()
            during = fault.during(node)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(THREADS, during.__enter__)
            undo.push_async_exit(
                lambda *_: loop.run_in_executor(THREADS, during.__exit__, None, None, None)
            )
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
    times = ((0, began), (began, ended), (ended, time.monotonic()))
    before_it, during_it, after = (
        [o for o in outcomes if start <= o.due < end] for start, end in times
    )
    return Seen(before_it, during_it, after, healthy, node.facts, node.broken)


def compare_with_audit_log(stack: Stack, every: Iterable[Seen]) -> None:
    """Fills in what the audit log lacks of the complete downloads that clients saw."""
    for downloads in stack.folder.glob("nginx-*/logs/downloads.log"):  # of those that nginx served
        with downloads.open() as file:
            command = [sys.executable, "manage.py", "record_download_completions"]
            subprocess.run(command, cwd=ROOT, stdin=file, stdout=subprocess.PIPE, check=True)  # noqa: S603
    words = ("downloads not recorded", "completions not recorded", "wrong completions")
    with stack.connect() as connection:
        for seen in every:
            all_of_them = (*seen.before, *seen.during, *seen.after)
            complete = [o for o in all_of_them if o.endpoint == "download" and o.right]
            values = [[o.request_id for o in complete], [o.size for o in complete]]
            [counts] = connection.execute(LOST, values)
            seen.downloads = len(complete)
            pairs = zip(counts, words, strict=True)
            seen.lost = [f"{count} {what}" for count, what in pairs if count]
