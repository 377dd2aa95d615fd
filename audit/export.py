"""The audit log as a CSV file: streamed in batches, and safe to open in a spreadsheet."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from audit.models import COLUMNS, Action
from config.admin import keyset

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


def lines(queryset: QuerySet[Any], alternatives: Sequence[Q]) -> Iterator[str]:
    """The lines of the file, newest first, one batch at a time.

    Each batch is a query of its own, so that a slow reader holds no transaction and no cursor.
    """
    writer = csv.writer(_Echo())
    yield _BYTE_ORDER_MARK + writer.writerow(COLUMNS)
    position, rows = None, queryset.values("id", *COLUMNS)
    while batch := keyset.fetch(rows, alternatives, position, BATCH):
        yield "".join(writer.writerow(_cells(row)) for row in batch)
        if len(batch) < BATCH:
            return
        position = keyset.Position(batch[-1]["created_at"], batch[-1]["id"])


def _cells(row: dict[str, Any]) -> list[Any]:
    shown = row | {
        "created_at": row["created_at"].isoformat().replace("+00:00", "Z"),
        "action": _LABELS.get(row["action"], row["action"]),
    }
    return [safe(shown[name]) for name in COLUMNS]


def csv_response(queryset: QuerySet[Any], alternatives: Sequence[Q]) -> StreamingHttpResponse:
    """The file as a download."""
    name = f"audit-log-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        lines(queryset, alternatives),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
