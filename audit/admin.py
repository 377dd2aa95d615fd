"""The audit log in the admin: all of it for support staff, their own for workspace admins."""

from typing import Any

from django.contrib import admin, messages
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

from audit import bars, export, fields, record
from audit.changelist import AuditChangeList
from audit.filters import AuditLogFilter
from audit.links import log_url
from audit.models import AuditEntry
from audit.scope import scope_of, workspace_directory
from audit.search import without_raw_key
from audit.tree import state
from config.admin.base import request_user
from config.admin.changelist import READING, ReadOnlyAdmin
from config.admin.formatting import code_spans

# The fieldsets of an entry's page; empty fields and fieldsets are left out.
FIELDSETS = (
    (
        "What happened",
        ("when", "happened", "what_happened", "download", "detail", "workspace_fact", "seal"),
    ),
    ("Who", ("person_link", "member_link", "key_fact")),
    ("Document", ("document_fact", "file_type", "byte_range", "sent", "sha256")),
    ("Request", ("address_link", "user_agent", "request_fact")),
)
MOST_OF_A_REQUEST = 20  # other entries that an entry's page shows
MOST_COUNTED = 100_000  # entries that are counted before an export


@admin.register(AuditEntry)
class AuditEntryAdmin(fields.EntryFields, ReadOnlyAdmin):
    """Nobody adds, changes or deletes an entry; the database refuses it too."""

    description = "Who did what, and when: keys, downloads, plans, members, accounts."
    menu_position = 30
    empty_text = "There are no entries yet."
    filter_form = AuditLogFilter
    change_list_template = "admin/audit/auditentry/change_list.html"
    change_form_template = "admin/audit/auditentry/change_form.html"
    list_display = (
        "when",
        "what_happened_to",
        "who",
        "document",
        "file_type",
        "workspace",
        "address_link",
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
        return [code_spans(warning) for warning in state.read().warnings()]

    def get_urls(self) -> list[URLPattern]:
        views = {
            "export": self.export_view,
            "export-of": self.before_export_view,
            "workspaces": self.workspaces_view,
        }
        ours = [
            path(
                f"{name}/",
                self.admin_site.admin_view(view),
                name=f"audit_auditentry_{name.replace('-', '_')}",
            )
            for name, view in views.items()
        ]
        return [*ours, *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(request, extra_context)

    def before_export_view(self, request: HttpRequest) -> HttpResponse:
        """What an export would contain, and how many entries these are."""
        form = self._form_of_export(request)
        if not isinstance(form, AuditLogFilter):
            return form
        try:
            entries = self.get_filtered(request, form)
            number = bars.count(entries, form.alternatives(), MOST_COUNTED)
            size = f"more than {MOST_COUNTED:,}" if number > MOST_COUNTED else f"{number:,}"
        except bars.TooMany:
            size = "too many to count in a moment"
        query = f"?{request.GET.urlencode()}"
        return self.page(
            request,
            "admin/audit/auditentry/export.html",
            title="Export as CSV",
            size=size,
            filters=form.text(),
            file_name=export.file_name(form),
            export_url=reverse("admin:audit_auditentry_export") + query,
            back_url=log_url() + query,
        )

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered entries as CSV; a redirect to the list if a filter is not valid."""
        form = self._form_of_export(request)
        if not isinstance(form, AuditLogFilter):
            return form
        person = request_user(request).get_username()
        try:
            export.RUNNING.take(person)
        except export.TooManyExports:
            messages.warning(
                request,
                "Nothing was exported: another export is still being sent. Wait until it has "
                "ended, or cancel it.",
            )
            return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")
        try:
            # Committed before the first byte.
            started = record.log_exported(
                workspace=form.only_workspace(), person=person, detail=form.text()
            )
        except BaseException:
            export.RUNNING.give_back(person)
            raise
        found = export.batches(
            self.get_filtered(request, form), form.alternatives(), self.get_queryset(request)
        )
        return export.csv_response(export.Lines(found, started), export.file_name(form))

    def _form_of_export(self, request: HttpRequest) -> AuditLogFilter | HttpResponse:
        """The valid filters of an export, or the response without them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        if redirect := redirect_without_key(request):
            return redirect
        form = self.get_filter_form(request)
        if form.is_valid():
            return form
        return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")

    def workspaces_view(self, request: HttpRequest) -> HttpResponse:
        """Suggestions for the workspace filter, for users who see every workspace's entries."""
        if not scope_of(request).everything:
            raise PermissionDenied
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        return JsonResponse(workspace_directory().autocomplete(request.GET))

    def history_url(self, obj: Model) -> str:
        """An entry has no history of its own."""
        return reverse("admin:audit_auditentry_change", args=[obj.pk])

    # --- One entry ---

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        entry = super().get_object(request, *args, **kwargs)
        if entry is not None:
            fields.prepare(request, [entry], self.get_queryset(request))
        return entry

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method not in READING:
            return HttpResponseNotAllowed(READING)
        entry = self.visible_or_404(request, object_id)
        context = {
            "same_request": self._same_request(request, entry),
            "changed_after_seal": entry.seal_found is not None and not entry.seal_found.intact,
        }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def _same_request(self, request: HttpRequest, entry: AuditEntry) -> list[dict[str, Any]]:
        """The entries of the same request, in their order: of a download, its start and its end."""
        if not entry.request_id:
            return []
        found = self.get_queryset(request).filter(request_id=entry.request_id)
        entries = list(found.order_by("id")[:MOST_OF_A_REQUEST])
        return [
            {
                "when": self.when(each),
                "url": fields.entry_url(each),
                "current": each.pk == entry.pk,
                "text": self.what_happened(each),
                "detail": each.detail,
                "byte_range": each.byte_range,
                "sent": self.sent(each),
            }
            for each in entries
            if len(entries) > 1
        ]

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
