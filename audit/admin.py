"""The audit log in the admin: all of it for support staff, their own for workspace admins."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join

from audit import export, record
from audit.filters import AuditLogFilter, without_raw_key
from audit.links import log_link, log_url
from audit.models import AuditEntry
from audit.scope import scope_of, workspace_directory
from audit.tree import state
from config.admin.base import request_user
from config.admin.changelist import KeysetChangeList, ReadOnlyAdmin
from config.admin.formatting import date_column, exact

# The fieldsets of an entry's page; empty fields and fieldsets are left out.
FIELDSETS = (
    ("What happened", ("when", "happened", "what_happened", "workspace", "detail", "seal")),
    ("Who", ("person_link", "member_link", "key_link")),
    ("Document", ("document", "file_type", "byte_range", "bytes_sent", "file_sha256")),
    ("Request", ("address", "user_agent", "whole_request")),
)


def link_column(label: str, text: str, **filters: str) -> Callable[[Any, AuditEntry], str]:
    """A column with a link to the audit log, filtered by a value of the entry.

    Args:
        text: the property of the entry that the link shows.
        filters: one filter, with the field of the entry that has its value.
    """
    [(name, field)] = filters.items()

    @admin.display(description=label)
    def column(self: Any, entry: AuditEntry) -> str:
        return log_link(getattr(entry, text), **{name: getattr(entry, field)})

    return column


class AuditChangeList(KeysetChangeList):
    """Knows which entries of its page are sealed, after one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        sealed = state.sealed_among(self.result_list)
        for entry in self.result_list:
            entry.is_sealed = entry.pk in sealed


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Nobody adds, changes or deletes an entry; the database refuses it too."""

    description = "Who did what, and when: keys, downloads, plans, members, accounts."
    menu_position = 40
    empty_text = "There are no entries yet."
    filter_form = AuditLogFilter
    change_list_template = "admin/audit/auditentry/change_list.html"
    list_display = (
        "when",
        "workspace",
        "what_happened_to",
        "who",
        "document",
        "file_type",
        "address",
        "request",
        "sealed",
    )
    list_display_links = ("when",)

    # --- Who sees what ---

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        scope = scope_of(request)
        return bool(scope) if obj is None else scope.includes(obj.workspace_id)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        scope = scope_of(request)
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        return entries.filter(scope.condition()) if scope else entries.none()

    def get_filter_form(self, request: HttpRequest) -> AuditLogFilter:
        return AuditLogFilter(request.GET, scope_of(request))

    # --- Pages ---

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[AuditChangeList]:
        return AuditChangeList

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """If the log is not sealed or was found damaged: that concerns all who read it."""
        return state.read().warnings()

    def get_urls(self) -> list[URLPattern]:
        export_view = self.admin_site.admin_view(self.export_view)
        workspaces_view = self.admin_site.admin_view(self.workspaces_view)
        return [
            path("export/", export_view, name="audit_auditentry_export"),
            path("workspaces/", workspaces_view, name="audit_auditentry_workspaces"),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(request, extra_context)

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered entries as CSV; a redirect to the list if a filter is not valid."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        if redirect := redirect_without_key(request):
            return redirect
        form = self.get_filter_form(request)
        if not form.is_valid():
            return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")
        # Committed before the first byte.
        started = record.log_exported(
            workspace=form.only_workspace(),
            person=request_user(request).get_username(),
            detail=form.text(),
        )
        return export.csv_response(self.get_filtered(request, form), form.alternatives(), started)

    def workspaces_view(self, request: HttpRequest) -> HttpResponse:
        """Autocompletion for the workspace filter, for users who see every workspace's entries."""
        if not scope_of(request).everything:
            raise PermissionDenied
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        return JsonResponse(workspace_directory().autocomplete(request.GET))

    def history_url(self, obj: Model) -> str:
        """An entry has no history of its own."""
        return reverse("admin:audit_auditentry_change", args=[obj.pk])

    # --- One entry ---

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        filled = [
            (title, [name for name in names if self._holds(obj, name)])
            for title, names in FIELDSETS
        ]
        return [(title, {"fields": names}) for title, names in filled if names]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [name for _, names in FIELDSETS for name in names]

    def _holds(self, obj: Any, name: str) -> bool:
        if name == "seal":  # every entry's page says it; the query is made once
            return True
        shown = getattr(self, name, None)
        return (shown(obj) if shown else getattr(obj, name)) not in ("", None)

    # --- Fields ---

    when = date_column("created_at", "time")
    happened = date_column("occurred_at", "happened", empty="")
    workspace = link_column("workspace", "workspace_name", workspace_id__exact="workspace_id")
    person_link = link_column("user", "person", q="person")
    member_link = link_column("account", "member", q="member")
    key_link = link_column("API key", "key_label", key_id__exact="key_id")
    document = link_column("document", "document_title", document_id__exact="document_id")
    request = link_column("request id", "short_request_id", q="request_id")
    whole_request = link_column("request id", "request_id", q="request_id")

    @admin.display(description="sealed")
    def sealed(self, entry: Any) -> str:
        return "yes" if entry.is_sealed else "not yet"

    @admin.display(description="seal")
    def seal(self, entry: AuditEntry) -> str:
        found = state.seal_of(entry)
        if found is None:
            return "Not sealed yet"
        leaf, checkpoint = found
        return (
            f"Leaf {leaf:,}; sealed by the checkpoint of {exact(checkpoint.sealed_at)}, with "
            f"{checkpoint.size:,} entries"
        )

    @admin.display(description="what happened")
    def what_happened(self, entry: AuditEntry) -> str:
        return entry.get_action_display()

    @admin.display(description="what happened")
    def what_happened_to(self, entry: AuditEntry) -> str:
        """The action with its key or account. A key that acted itself is in the column "who"."""
        key = self.key_link(entry) if entry.person else ""
        part = entry.byte_range and f"bytes {entry.byte_range}"
        sent = "" if entry.bytes_sent is None else f"{entry.bytes_sent:,} bytes sent"
        parts = [each for each in (key, self.member_link(entry), entry.detail, part, sent) if each]
        if not parts:
            return self.what_happened(entry)
        named = format_html_join(", ", "{}", ((part,) for part in parts))
        return format_html("{}: {}", self.what_happened(entry), named)

    @admin.display(description="who")
    def who(self, entry: AuditEntry) -> str:
        return self.person_link(entry) or self.key_link(entry)


def redirect_without_key(request: HttpRequest) -> HttpResponseRedirect | None:
    """A redirect that removes a raw key from the search, if there is one.

    The browser's history keeps the target of a redirect, not the URL that was redirected.
    """
    text = request.GET.get("q", "")
    kept = without_raw_key(text)
    if kept == text:
        return None
    query = request.GET.copy()
    query["q"] = kept
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
