"""The audit log as a CSV file: streamed in batches, and safe to open in a spreadsheet.

Two entries of the log itself say who exported it, and how much of it was sent.
"""

import csv
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from audit import record
from audit.models import COLUMNS, Action, AuditEntry
from config.admin import keyset

logger = logging.getLogger(__name__)

BATCH = 2000  # entries that are read and sent at a time; no more are ever in memory
# A spreadsheet treats a cell that begins with one of these as a formula (OWASP, CSV injection);
# this includes the full-width forms.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_LABELS = dict(Action.choices)
_BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read the file as UTF-8


class _Echo:
    """A file for csv.writer that returns each line instead of storing it."""

    def write(self, text: str) -> str:
        return text


def safe(cell: Any) -> Any:
    """The cell, marked as text if a spreadsheet would treat it as a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def batches(queryset: QuerySet[Any], alternatives: Sequence[Q]) -> Iterator[list[dict[str, Any]]]:
    """The entries, newest first.

    Each batch is a query of its own, so that a slow reader holds no transaction and no cursor.
    """
    position, rows = None, queryset.values("id", *COLUMNS)
    while batch := keyset.fetch(rows, alternatives, position, BATCH):
        yield batch
        if len(batch) < BATCH:
            return
        position = keyset.Position(batch[-1]["created_at"], batch[-1]["id"])


class Lines:
    """The lines of the file, one batch at a time; their end is another audit entry.

    Args:
        found: the batches of entries.
        started: the audit entry of the export.
    """

    def __init__(self, found: Iterator[list[dict[str, Any]]], started: AuditEntry) -> None:
        self._writer = csv.writer(_Echo())
        self._parts = self._write(found)
        self._started = started
        self._count = 0  # entries that the server has been given
        self._ended = False

    def _write(self, found: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
        yield _BYTE_ORDER_MARK + self._writer.writerow(COLUMNS)
        for batch in found:
            self._count += len(batch)
            yield "".join(self._writer.writerow(_cells(row)) for row in batch)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            return next(self._parts)
        except StopIteration:
            self._end(f"{self._count:,} entries")
            raise

    def close(self) -> None:
        """The server calls it after the last byte, or if the client left."""
        self._end(f"broken off after {self._count:,} entries")

    def _end(self, detail: str) -> None:
        if self._ended:
            return
        self._ended = True
        try:
            record.log_export_ended(self._started, detail=detail)
        except (DatabaseError, InterfaceError) as exc:
            # The export itself is recorded, and its bytes have been sent; only log the failure.
            logger.error("The end of an export could not be recorded: %r", exc)


def _cells(row: dict[str, Any]) -> list[Any]:
    shown = row | {
        **{name: _time(row[name]) for name in ("created_at", "occurred_at")},
        "action": _LABELS.get(row["action"], row["action"]),
    }
    return [safe(shown[name]) for name in COLUMNS]


def _time(moment: datetime | None) -> str:
    return moment.isoformat().replace("+00:00", "Z") if moment else ""


def csv_response(
    queryset: QuerySet[Any], alternatives: Sequence[Q], started: AuditEntry
) -> StreamingHttpResponse:
    """The file as a download, whose audit entry is `started`."""
    name = f"audit-log-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        Lines(batches(queryset, alternatives), started),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
