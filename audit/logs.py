"""A log of workspaces in the console: the list, an opened row, and how the header's box finds one.

The audit log, the refused requests and the deliveries are such logs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin.views.main import ChangeList
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from audit.scope import WORKSPACE, ScopedAdmin
from config.console.identify import Kind
from config.console.links import filtered
from config.console.lists import OPEN, Line, LogChangeList, LogFilter


class LogAdmin(ScopedAdmin):
    """A list of what happened in workspaces. A subclass has `line` and `facts`."""

    change_list_template = "admin/log.html"
    filter_form: type[LogFilter] = LogFilter
    is_log = True
    empty_text = "Nothing matches."
    finds: Mapping[Kind, Sequence[str]] = {}  # the filters that a text may be of, in turn

    # --- The list

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LogChangeList

    def get_filter_form(self, request: HttpRequest) -> Any:
        return self.filter_form(request.GET)

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The list; 404 if the user may not see the row that the URL opens."""
        if OPEN in request.GET:
            request.open = self.visible_or_404(request, request.GET[OPEN])  # type: ignore[attr-defined]
        return super().changelist_view(request, *args, **kwargs)

    def panel(self, request: HttpRequest, title: str, rows: Iterable[Any], url: str) -> SafeString:
        """Some rows, for the start page, and a link to the list."""
        context = {
            "title": title,
            "lines": self.lines(request, rows),
            "url": url,
            "one_workspace": self.shows_one_workspace(request),
        }
        return SafeString(render_to_string("admin/log_panel.html", context))

    # --- A row

    def line(self, request: HttpRequest, row: Any) -> Line:
        raise NotImplementedError

    def lines(self, request: HttpRequest, rows: Iterable[Any]) -> list[dict[str, Any]]:
        """Rows for the table of a log, each a link that opens it in the list."""
        return [
            {"row": row, "line": self.line(request, row), "url": self.url_of(row)} for row in rows
        ]

    def facts(self, request: HttpRequest, row: Any) -> Iterable[tuple[str, Any]]:
        """What is known of an opened row: labels and texts. Those that are empty are not shown."""
        return ()

    def details(self, request: HttpRequest, row: Any) -> SafeString:
        facts = [(label, text) for label, text in self.facts(request, row) if text]
        return SafeString(render_to_string("admin/facts.html", {"facts": facts}))

    # --- Its URL

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """The list with the filter that finds something; if that is one row, it is opened."""
        for name in self.finds.get(kind, ()):
            form = self.filter_form(QueryDict(urlencode({name: text})))
            found = form.condition() if form.is_valid() else Q(pk__in=[])
            # In no order: the newest first could be looked for through the whole table.
            rows = self.openable(request).filter(found).order_by()[:2]
            if len(rows) == 1:
                return self.url_in(rows[0].workspace_id, **{OPEN: rows[0].pk, name: text})
            if rows:
                own = rows[0].workspace_id if self.shows_one_workspace(request) else None
                return self.url_in(own, **{name: text})
        return ""

    def url_of(self, obj: Any) -> str:
        return self.url_in(obj.workspace_id, **{OPEN: obj.pk})

    def url_in(self, workspace_id: UUID | None, **filters: Any) -> str:
        """The URL of the list of a workspace, or of all."""
        own = {WORKSPACE: workspace_id} if workspace_id else {}
        return filtered(self.url_name("changelist"), **own, **filters)
