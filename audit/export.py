"""The audit log as a CSV file: streamed in batches, and safe to open in a spreadsheet.

Two entries of the log itself say who exported it, and how much of it was sent.
"""

import csv
import logging
import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify

from audit import record
from audit.export_limits import EXPORT_SECONDS, RUNNING, slot
from audit.filters import AuditLogFilter
from audit.models import COLUMNS, LABELS, Action, AuditEntry
from config.admin import keyset
from config.slots import NoSlot

logger = logging.getLogger(__name__)

BATCH = 2000  # entries that are read and sent at a time; no more are ever in memory
# A spreadsheet treats a cell that begins with one of these as a formula (OWASP, CSV injection);
# this includes the full-width forms. Where `;` or tabs separate cells, one may begin within ours,
# also after a quotation mark.
_FORMULA = re.compile("(^|[;\t\r\n])([\"' ]*)(?=[=+\\-@＝＋－＠])")
_BLANK = ("\t", "\r", "\n")  # some spreadsheets skip these before a formula
_BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read the file as UTF-8


class _Echo:
    """A file for csv.writer that returns each line instead of storing it."""

    def write(self, text: str) -> str:
        return text


def safe(cell: Any) -> Any:
    """The cell, marked as text wherever a spreadsheet could see a formula begin."""
    if not isinstance(cell, str):
        return cell
    marked = _FORMULA.sub(r"\1'\2", cell)
    return f"'{marked}" if marked.startswith(_BLANK) else marked


def batches(
    entries: QuerySet[Any], alternatives: Sequence[Q], among: QuerySet[Any]
) -> Iterator[list[dict[str, Any]]]:
    """The entries, newest first, each download with the entry of its end before it.

    Each batch is read by itself, so that a slow reader holds no transaction and no cursor.

    Args:
        among: the entries that the user may see.
    """
    position, rows = None, entries.values("id", *COLUMNS)
    while True:
        with slot():
            batch = keyset.fetch(rows, alternatives, position, BATCH)
            found = _with_ends(batch, among)
        if batch:
            yield found
        if len(batch) < BATCH:
            return
        position = keyset.Position(batch[-1]["created_at"], batch[-1]["id"])


def _with_ends(batch: list[dict[str, Any]], among: QuerySet[Any]) -> list[dict[str, Any]]:
    started = [row["request_id"] for row in batch if row["action"] == Action.DOCUMENT_DOWNLOADED]
    if not any(started):
        return batch
    found = among.filter(action=Action.DOWNLOAD_ENDED, request_id__in=filter(None, started))
    ends = {row["request_id"]: row for row in found.values("id", *COLUMNS)}
    lines = []
    for row in batch:
        if row["action"] == Action.DOCUMENT_DOWNLOADED and row["request_id"] in ends:
            lines.append(ends[row["request_id"]])
        lines.append(row)
    return lines


class Lines:
    """The lines of the file, one batch at a time; their end is another audit entry.

    Args:
        found: the batches of entries.
        started: the audit entry of the export, which counts in `RUNNING`.
    """

    def __init__(self, found: Iterator[list[dict[str, Any]]], started: AuditEntry) -> None:
        self._writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
        self._parts = self._write(found)
        self._started = started
        self._count = 0  # entries that the server has been given
        self._last = time.monotonic() + EXPORT_SECONDS
        self._ended = False

    def _write(self, found: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
        yield _BYTE_ORDER_MARK + self._writer.writerow(COLUMNS)
        for batch in found:
            self._count += len(batch)
            yield "".join(self._writer.writerow(_cells(row)) for row in batch)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if time.monotonic() > self._last:
            raise TimeoutError("the export takes too long")
        try:
            return next(self._parts)
        except StopIteration:
            self._end(f"{self._count:,} {'entry' if self._count == 1 else 'entries'}")
            raise

    def close(self) -> None:
        """The server calls it after the last byte, or if the client left."""
        self._end(f"broken off after {self._count:,} entries")

    def _end(self, detail: str) -> None:
        if self._ended:
            return
        self._ended = True
        RUNNING.give_back(self._started.person)
        try:
            with slot():
                record.log_export_ended(self._started, detail=detail)
        except (DatabaseError, InterfaceError, NoSlot) as exc:
            # The export itself is recorded, and its bytes have been sent; only log the failure.
            logger.error("The end of an export could not be recorded: %r", exc)


def _cells(row: dict[str, Any]) -> list[Any]:
    shown = row | {
        **{name: _time(row[name]) for name in ("created_at", "occurred_at")},
        "action": LABELS.get(row["action"], row["action"]),
    }
    return [safe(shown[name]) for name in COLUMNS]


def _time(moment: datetime | None) -> str:
    return moment.isoformat().replace("+00:00", "Z") if moment else ""


def file_name(form: AuditLogFilter) -> str:
    """`audit-log-2026-11-22-workspace-acme.csv`: the day, and the filters in short."""
    filters = form.text()
    words = "" if filters == "no filter" else f"-{slugify(filters)[:80].strip('-_')}"
    return f"audit-log-{timezone.now():%Y-%m-%d}{words}.csv"


def csv_response(lines: Lines, name: str) -> StreamingHttpResponse:
    """The file as a download."""
    response = StreamingHttpResponse(
        lines,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
    response.without_slot = True  # type: ignore[attr-defined] # see `config.admission`
    return response
