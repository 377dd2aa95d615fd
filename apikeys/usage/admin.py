"""Refused requests in the admin: all for support, those of their workspaces for admins."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.usage import report
from apikeys.usage.filters import RefusedChangeList, RefusedFilter
from apikeys.usage.models import RefusedRequest
from audit.admin.base import ScopedAdmin
from audit.scope import sees_every_workspace
from config.console.base import request_user
from config.console.object_page import ObjectPage
from workspaces.directory import own_workspaces
from workspaces.permissions import is_operator

LATEST = 5  # on the start page


class RefusedPage(ObjectPage):
    """All that is known of one request."""

    template_name = "admin/usage/refusedrequest/page.html"

    def context(self) -> dict[str, Any]:
        for_support = sees_every_workspace(self.user)
        report.folded([self.obj], for_support=for_support)
        own = own_workspaces(self.request)
        return {"title": self.name, "row": self.obj, "for_support": for_support, "own": own}


@admin.register(RefusedRequest)
class RefusedRequestAdmin(ScopedAdmin):
    """Which requests were refused, and why: the answer to a quoted Request-Id."""

    empty_text = "No request was refused in the last 30 days."
    menu_position = 35
    filter_form = RefusedFilter
    change_list_template = "admin/usage/refusedrequest/change_list.html"
    pages = {"change": RefusedPage}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RefusedChangeList]:
        return RefusedChangeList

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """All requests for operators, refused ones of known keys for support."""
        user, panels = request_user(request), []
        if is_operator(user):
            panels.append(report.panel("All workspaces", report.daily_of_all()))
        if sees_every_workspace(user):
            groups = report.refused(for_support=True, key_id__isnull=False)[:LATEST]
            context = {"groups": groups}
            panels.append(render_to_string("admin/usage/panels/support.html", context))
        return panels

    def found(self, request: HttpRequest, text: str, most: int) -> tuple[list[Any] | None, str]:
        rows, what = super().found(request, text, most)
        for row in rows or ():
            row.counts = text if row.more and row.request_id not in text.lower() else ""
        return rows, what

    def url_of(self, obj: Any) -> str:
        """Of a flood that was found by another id than its own, the list, which says so."""
        if text := getattr(obj, "counts", ""):
            return f"{self.crumb()[1]}?{urlencode({'q': text})}"
        return super().url_of(obj)

    def heading(self, obj: RefusedRequest) -> str:
        return f"Refused request {obj.request_id[:8]}…"
