"""The audit log as a CSV file: streamed in batches, and safe to open in a spreadsheet.

An entry of the log itself says who exported it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from audit.admin.base import ScopedAdmin
from audit.admin.filters import AuditLogFilter
from audit.admin.links import log_url
from audit.admin.search import redirect_without_key
from audit.admin.sending import send
from audit.models import COLUMNS, Action, AuditEntry
from audit.record import record
from audit.scope import scope_of
from config.console import keyset
from config.console.base import request_user
from config.console.reauthentication import recent_sign_in_required

BATCH = 2000  # entries that are read and sent at a time; no more are ever in memory
# A spreadsheet treats a cell that begins with one of these as a formula (OWASP, CSV injection);
# this includes the full-width forms. Where `;` or tabs separate cells, one may begin within ours,
# also after a quotation mark.
_FORMULA = re.compile("(^|[;\t\r\n])([\"' ]*)(?=[=+\\-@＝＋－＠])")
_BLANK = ("\t", "\r", "\n")  # some spreadsheets skip these before a formula
_BYTE_ORDER_MARK = "\ufeff"  # without it, Excel does not read the file as UTF-8


def safe(cell: Any) -> Any:
    """The cell, marked as text wherever a spreadsheet could see a formula begin."""
    if not isinstance(cell, str):
        return cell
    marked = _FORMULA.sub(r"\1'\2", cell)
    return f"'{marked}" if marked.startswith(_BLANK) else marked


def lines(entries: QuerySet[AuditEntry], alternatives: Sequence[Q]) -> Iterator[str]:
    """The lines of the file: the heading, then each batch in the list's order.

    Each batch is one statement, so a slow reader holds no transaction and no cursor.
    """
    yield _BYTE_ORDER_MARK + _csv([COLUMNS])
    position = None
    while True:
        batch = keyset.fetch(entries, alternatives, position, BATCH)
        if batch:
            yield _csv(map(_cells, batch))
        if len(batch) < BATCH:
            return
        position = keyset.Position(batch[-1].created_at, batch[-1].id)


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


def _cells(entry: AuditEntry) -> list[Any]:
    created_at = entry.created_at.isoformat().replace("+00:00", "Z")
    shown = {**vars(entry), "action": entry.action_label, "created_at": created_at}
    return [safe(shown[name]) for name in COLUMNS]


def file_name(form: AuditLogFilter) -> str:
    """`audit-log-2026-11-22-workspace-acme.csv`: the day, and the filters in short."""
    filters = form.text()
    words = "" if filters == "no filter" else f"-{slugify(filters)[:80].strip('-_')}"
    return f"audit-log-{timezone.now():%Y-%m-%d}{words}.csv"


class ExportViews(ScopedAdmin):
    """The view; the admin of the audit log has its URL."""

    @method_decorator(require_GET)
    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered entries as CSV; a redirect to the list if a filter is not valid."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if redirect := redirect_without_key(request):
            return redirect
        recent_sign_in_required(request)
        form = AuditLogFilter(request.GET, scope_of(request))
        if not form.is_valid():
            return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")

        def make() -> Iterator[str]:
            person, workspace = request_user(request).get_username(), form.only_workspace()
            record(Action.LOG_EXPORTED, by=person, workspace=workspace, detail=form.text())
            return lines(self.get_filtered(request, form), form.alternatives())

        return send(request, make, name=file_name(form), content_type="text/csv; charset=utf-8")
