"""The audit log beside what clients saw."""

import subprocess
import sys
from collections.abc import Iterable

from bench.faults.services import FOLDER, administrator
from bench.faults.verdict import Audit, Seen
from bench.launch import ROOT

ENTRIES = """
    SELECT request_id, bytes_sent FROM audit_auditentry
    WHERE action = %s AND request_id = ANY(%s)
"""


def record_completions() -> None:
    """Records the completions of downloads that nginx served, from its logs."""
    for log in FOLDER.glob("nginx-*/logs/downloads.log"):
        with log.open() as file:
            command = [sys.executable, "manage.py", "record_download_completions"]
            subprocess.run(command, cwd=ROOT, stdin=file, stdout=subprocess.PIPE, check=True)  # noqa: S603


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
            started, ended = (
                dict[str, int](connection.execute(ENTRIES, [action, ids]).fetchall())
                for action in ("document.downloaded", "document.download_ended")
            )
            seen.audit = Audit(
                len(sizes),
                sum(each not in started for each in sizes),
                sum(each not in ended for each in sizes),
                sum(ended.get(each, size) != size for each, size in sizes.items()),
            )
