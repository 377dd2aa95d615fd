"""The history as a CSV file: streamed in batches, whatever its length, and safe to open."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.http import content_disposition_header

from audit.models import Action
from config.admin import keyset

BATCH = 2000  # entries read, and sent, at a time; a batch is all that is ever in memory
COLUMNS = (
    "created_at",
    "action",
    "workspace_name",
    "workspace_id",
    "person",
    "member",
    "detail",
    "key_name",
    "key_prefix",
    "key_id",
    "document_title",
    "document_id",
    "file_type",
    "file_sha256",
    "byte_range",
    "bytes_sent",
    "address",
    "user_agent",
    "request_id",
)
# A spreadsheet takes a cell that begins with one of these for a formula (OWASP, CSV injection),
# in full width too.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_LABELS = dict(Action.choices)
_BYTE_ORDER_MARK = "\ufeff"  # without it Excel does not take the file for UTF-8


class _Line:
    """A file whose last written line is all it holds."""

    def write(self, text: str) -> str:
        return text


def safe(cell: Any) -> Any:
    """The cell, as text in a spreadsheet whatever it begins with."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def lines(queryset: QuerySet[Any], ways: Sequence[Q]) -> Iterator[str]:
    """The file's text, a batch at a time, newest first.

    Each batch is a query of its own: no transaction and no cursor is held for as long as the
    reader takes.
    """
    writer = csv.writer(_Line())
    yield _BYTE_ORDER_MARK + writer.writerow(COLUMNS)
    place, rows = None, queryset.values("id", *COLUMNS)
    while batch := keyset.fetch(rows, ways, place, BATCH):
        yield "".join(writer.writerow(_cells(row)) for row in batch)
        if len(batch) < BATCH:
            return
        place = keyset.Position(batch[-1]["created_at"], batch[-1]["id"])


def _cells(row: dict[str, Any]) -> list[Any]:
    shown = row | {
        "created_at": row["created_at"].isoformat().replace("+00:00", "Z"),
        "action": _LABELS.get(row["action"], row["action"]),
    }
    return [safe(shown[name]) for name in COLUMNS]


def answer(queryset: QuerySet[Any], ways: Sequence[Q]) -> StreamingHttpResponse:
    """The file as a download."""
    name = f"audit-history-{timezone.now():%Y-%m-%d}.csv"
    return StreamingHttpResponse(
        lines(queryset, ways),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )
