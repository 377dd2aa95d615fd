"""A log of workspaces in the console: the list, an opened row, and how the header's box finds one.

The audit log, the refused requests and the deliveries are such logs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from audit.scope import WORKSPACE, ScopedAdmin
from config.console.identify import Kind
from config.console.links import filtered
from config.console.lists import OPEN, FilteredList, Line


class LogAdmin(ScopedAdmin):
    """A list of what happened in workspaces. A subclass has `line` and `facts`."""

    title = "Log"
    list_class = FilteredList
    is_log = True
    empty_text = "Nothing matches."
    finds: Mapping[Kind, Sequence[str]] = {}  # the filters that a text may be of, in turn

    # --- A row

    def line(self, request: HttpRequest, row: Any) -> Line:
        raise NotImplementedError

    def lines(
        self, request: HttpRequest, rows: Iterable[Any], opened: Any = None
    ) -> list[dict[str, Any]]:
        """Rows for the table of a log, each a link that opens it in the list."""
        return [
            {
                "row": row,
                "line": self.line(request, row),
                "url": self.url_of(row),
                "details": self.details(request, row) if row == opened else "",
            }
            for row in rows
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
            form = self.filter_form({name: text})
            ranges = form.ranges(self.openable(request)) if form.is_valid() else []
            # In no order: the newest first could be looked for through the whole table.
            rows = [row for each in ranges for row in each.order_by()[:2]]
            filters: dict[str, Any] = {name: text}
            if rows and kind == Kind.KEY and rows[0].key_id:
                filters = {"key_id__exact": rows[0].key_id}  # such a list has the key's state
            if len(rows) == 1:
                return self.url_in(rows[0].workspace_id, **{OPEN: rows[0].pk}, **filters)
            if rows:
                own = rows[0].workspace_id if self.shows_one_workspace(request) else None
                return self.url_in(own, **filters)
        return ""

    def url_of(self, obj: Any) -> str:
        return self.url_in(obj.workspace_id, **{OPEN: obj.pk})

    def url_in(self, workspace_id: UUID | None, **filters: Any) -> str:
        """The URL of the list of a workspace, or of all."""
        own = {WORKSPACE: workspace_id} if workspace_id else {}
        return filtered(self.url_name("changelist"), **own, **filters)
