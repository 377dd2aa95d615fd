"""The audit log beside what clients saw."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable

import psycopg

from bench.faults.services import FOLDER, administrator
from bench.faults.verdict import Audit, Seen
from bench.launch import ROOT

ENTRIES = """
    SELECT request_id, bytes_sent, detail FROM audit_auditentry
    WHERE action = %s AND request_id = ANY(%s)
"""
Entries = dict[str, list[tuple[int, str]]]  # the bytes and words of each, by request id


def record_completions() -> None:
    """Records the completions of downloads that nginx served, from its logs."""
    for log in FOLDER.glob("nginx-*/logs/downloads.log"):
        with log.open() as file:
            command = [sys.executable, "manage.py", "record_download_completions"]
            subprocess.run(command, cwd=ROOT, stdin=file, stdout=subprocess.PIPE, check=True)  # noqa: S603


def entries(connection: psycopg.Connection, action: str, ids: list[str]) -> Entries:
    """The entries of these requests."""
    found: Entries = defaultdict(list)
    for request_id, sent, detail in connection.execute(ENTRIES, [action, ids]):
        found[request_id].append((sent, detail))
    return found


def compare(every: Iterable[Seen]) -> None:
    """Fills in what the audit log lacks, for each fault."""
    record_completions()
    with administrator() as connection:
        for seen in every:
            sizes = {
                o.request_id: o.size
                for o in seen.outcomes
                if o.endpoint == "download" and o.status == 200 and not o.problem
            }
            ids = list(sizes)
            started = entries(connection, "document.downloaded", ids)
            ended = entries(connection, "document.download_ended", ids)
            seen.audit = Audit(
                len(sizes),
                sum(each not in started for each in sizes),
                sum(each not in ended for each in sizes),
                sum(found != [(sizes[each], "whole file")] for each, found in ended.items()),
            )
