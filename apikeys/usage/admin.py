"""Refused requests in the admin: all for support, those of their workspaces for admins."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet, Value
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.usage import report
from apikeys.usage.models import SENT_LENGTH, KeyUsage, RefusedRequest, clean
from audit.admin.base import ScopedAdmin
from audit.admin.filters import id_field
from audit.admin.periods import LogChangeList, LogFilter
from audit.admin.search import Recognised, ids_in, recognise
from audit.scope import scope_of, sees_every_workspace
from config.console.base import request_user
from config.console.changelist import SearchField, any_of
from workspaces.permissions import is_operator

STATUSES = (400, 401, 402, 403, 404, 405, 410, 412, 416, 429, 500, 503)
CAN_BE_FOUND = (
    "A request id, a URL of the API, the id of a key or a workspace, or the first 12 characters of "
    "a key"
)
_PATH = re.compile(r"/api/[^\s?#\"'`“”‘’,;<>]+")
LATEST = 5  # on the start page


def recognised(text: str) -> list[Recognised]:
    """What finds refused requests: first of all a path, which may contain ids."""
    if path := _PATH.search(text):
        stored = clean(path[0], SENT_LENGTH)
        return [Recognised("Path", stored, (Q(path=stored),))]
    if ids := ids_in(text):
        return [_any_id(id) for id in ids]
    others = ("Address", "Login", "Beginning of a request id")
    return [each for each in recognise(text) if each.what not in others]


def _any_id(id: UUID) -> Recognised:
    conditions = (Q(request_ids__contains=[id]), Q(key_id=id), Q(workspace_id=id))
    return Recognised("Id of a request, key or workspace", str(id), conditions)


class RefusedFilter(LogFilter):
    """The filters of the list; `apikeys.usage.models` has the indexes."""

    q = SearchField(CAN_BE_FOUND)
    status__exact = any_of("Status", [(str(status), status) for status in STATUSES])
    key_id__exact = id_field("API key")  # set by links

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        self.recognised = recognised(text) if text else []
        if text and not self.recognised:
            raise ValidationError(f"This cannot be searched for. {CAN_BE_FOUND} can.")
        return text

    def alternatives(self) -> list[Q]:
        """Admins find a request with a deleted key by its whole id only."""
        own = list(self.scope.workspaces)
        ids = ids_in(self.cleaned_data["q"]) if own else []
        claimed = [Q(claimed_workspace_id__in=own, request_ids__contains=[id]) for id in ids]
        return [*super().alternatives(), *claimed]

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if rows and name == "key_id__exact":
            return str(rows[0].key_name)
        return super().chip_text(name, rows)


@admin.register(RefusedRequest)
class RefusedRequestAdmin(ScopedAdmin):
    """Which requests were refused, and why: the answer to a quoted Request-Id."""

    empty_text = "No request was refused in the last 30 days."
    menu_position = 35
    filter_form = RefusedFilter
    change_list_template = "admin/usage/refusedrequest/change_list.html"
    change_form_template = "admin/usage/refusedrequest/page.html"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        claimed = obj is not None and scope_of(request).includes(obj.claimed_workspace_id)
        return claimed or super().has_view_permission(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        if (scope := scope_of(request)).everything:
            return super().get_queryset(request)
        own = list(scope.workspaces)
        visible = Q(workspace_id__in=own) | Q(claimed_workspace_id__in=own)
        return RefusedRequest.objects.filter(visible)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LogChangeList]:
        return LogChangeList

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """All requests for operators, refused ones of known keys for support."""
        user, panels = request_user(request), []
        if is_operator(user):
            every = KeyUsage.objects.annotate(every=Value(""))
            panels.append(report.panel("All workspaces", report.daily(every, "every")[""]))
        if sees_every_workspace(user):
            known = RefusedRequest.objects.filter(key_id__isnull=False)
            rows = known.order_by("-created_at", "-id")[:LATEST]
            panels.append(render_to_string("admin/usage/panels/support.html", {"rows": rows}))
        return panels
