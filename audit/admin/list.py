"""The audit log in the admin: all of it for support staff, their own for workspace admins."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET

from audit.admin.export import ExportViews
from audit.admin.filters import AuditLogFilter
from audit.admin.links import (
    log_link,
    page_and_entries,
    page_link,
    pages_of,
    refused_requests_url,
)
from audit.admin.periods import LogChangeList
from audit.admin.search import Recognised
from audit.admin.workspace_filter import suggestions
from audit.models import AuditEntry, Checkpoint
from audit.queries import latest_downloads
from audit.scope import scope_of
from audit.sealing import keys, state
from config.console.formatting import Bad, code_spans, date_column, isolated, pill, time_tag
from config.templatetags.console import copyable

MOST_OF_A_REQUEST = 20  # other entries that an entry's page shows
OF_IDS = {"document_id": "Document id", "key_id": "Key id", "workspace_id": "Workspace id"}


def prepare(request: HttpRequest, entries: Sequence[AuditEntry]) -> None:
    """Adds seals and links to the entries, with one query for all of them."""
    seals, sealing = state.seals_of(entries), keys.set_up()
    for entry in entries:
        found: Any = entry
        found.pages = pages_of(request, entry.workspace_id)
        found.leaf, found.intact = seals.get(entry.pk, (None, True))
        found.waits = sealing and found.leaf is None


def fact(label: str, text: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A field of an entry's page; `text` gets the entry."""

    @admin.display(description=label)
    def shown(self: Any, entry: Any) -> Any:
        return text(entry)

    return shown


def object_links(entry: Any, text: str, field: str) -> str:
    value = getattr(entry, field)
    if not value:
        return ""
    return format_html("{} {}", page_and_entries(entry.pages, text, field, value), copyable(value))


class AuditChangeList(LogChangeList):
    """Adds what an id was recognised as."""

    form: AuditLogFilter

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        prepare(request, self.result_list)
        admin: Any = self.model_admin
        self.lines = [
            {**admin.line(entry), "facts": admin.facts(request, entry)}
            for entry in self.result_list
        ]
        scope = scope_of(request)
        self.evidence = keys.set_up()
        self.several = scope.everything or len(scope.workspaces) != 1

    # --- Search

    @property
    def recognised(self) -> list[Recognised]:
        return [self._as_found(each) for each in super().recognised]

    def _as_found(self, recognised: Recognised) -> Recognised:
        """What an id is, as the entries show that it has found."""
        for row in self.result_list:
            for field, what in OF_IDS.items():
                id = getattr(row, field)
                if id and recognised.value in (str(id), id.hex):
                    return replace(recognised, what=what)
        return recognised

    @property
    def empty_links(self) -> list[tuple[str, str]]:
        recognised = [] if self.form.errors else self.form.recognised
        requests = [each.value for each in recognised if each.request]
        refused = [refused_requests_url(q=each) for each in requests[:1]]
        return [*super().empty_links, *(("Look among refused requests", url) for url in refused)]


@admin.register(AuditEntry)
class AuditEntryAdmin(ExportViews):
    """Nobody adds, changes or deletes an entry; the database refuses it too."""

    menu_position = 30
    empty_text = "There are no entries yet."
    filter_form = AuditLogFilter
    change_list_template = "admin/audit/auditentry/change_list.html"
    change_form_template = "admin/audit/auditentry/change_form.html"
    only_on_pages = ("what_happened", "seal")  # the latter is a query for each
    sections = (
        (
            "What happened",
            ("when", "what_happened", "detail", "workspace_fact", "seal"),
        ),
        ("Who", ("person_link", "member_link", "key_fact")),
        ("Document", ("document_fact", "file_type", "byte_range", "sha256")),
        ("Request", ("address_link", "user_agent", "request_fact")),
    )

    # --- Pages ---

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[AuditChangeList]:
        return AuditChangeList

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """If the log is not sealed or was found damaged: that concerns all who read it."""
        return [Bad(code_spans(warning)) for warning in state.read().warnings()]

    def panels(self, request: HttpRequest) -> list[SafeString]:
        """The last downloads of those workspaces whose admin the user is."""
        scope = scope_of(request)
        if scope.everything:
            return []
        found = latest_downloads(scope)
        return [render_to_string("admin/audit/auditentry/downloads.html", {"entries": found})]

    def get_urls(self) -> list[URLPattern]:
        views = {"export": self.export_view, "workspaces": self.workspaces_view}
        ours = [
            path(f"{name}/", self.admin_site.admin_view(view), name=f"audit_auditentry_{name}")
            for name, view in views.items()
        ]
        return [*ours, *super().get_urls()]

    @method_decorator(require_GET)
    def workspaces_view(self, request: HttpRequest) -> HttpResponse:
        if not scope_of(request).everything:
            raise PermissionDenied
        found = suggestions(request.GET.get("term", ""))
        return JsonResponse({"suggestions": found})

    # --- One entry ---

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        entry = super().get_object(request, *args, **kwargs)
        if entry is not None:
            prepare(request, [entry])
        return entry

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        entry = self.visible_or_404(request, object_id)
        context = {
            "same_request": self._same_request(request, entry),
            "changed_after_seal": not entry.intact,
        }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def _same_request(self, request: HttpRequest, entry: AuditEntry) -> list[AuditEntry]:
        if not entry.request_id:
            return []
        found = self.get_queryset(request).filter(request_id=entry.request_id)
        entries = list(found.order_by("id")[:MOST_OF_A_REQUEST])
        return entries if len(entries) > 1 else []

    def _holds(self, obj: Any, name: str) -> bool:
        # Where the log is sealed, every entry's page says whether it is; the query is made once.
        return keys.set_up() if name == "seal" else super()._holds(obj, name)

    # --- Fields, of entries that have been passed to `prepare` ---

    when = date_column("created_at", "time")
    what_happened = fact("what happened", lambda entry: entry.action_label)
    person_link = fact("user", lambda entry: log_link(entry.person, q=entry.person))
    member_link = fact("account", lambda entry: log_link(entry.member, q=entry.member))
    address_link = fact("address", lambda entry: log_link(entry.address, q=entry.address))
    workspace_fact = fact(
        "workspace", lambda entry: object_links(entry, entry.workspace_name, "workspace_id")
    )
    key_fact = fact("API key", lambda entry: object_links(entry, entry.key_label, "key_id"))
    document_fact = fact(
        "document", lambda entry: object_links(entry, entry.document_title, "document_id")
    )
    sha256 = fact("file SHA-256", lambda entry: copyable(entry.file_sha256))

    @admin.display(description="request id")
    def request_fact(self, entry: AuditEntry) -> str:
        if not entry.request_id:
            return ""
        found = log_link("all entries", q=entry.request_id)
        return format_html("{} {}", copyable(entry.request_id), found)

    @admin.display(description="seal")
    def seal(self, entry: Any) -> str:
        if entry.leaf is None:
            return "Not sealed yet"
        if not entry.intact:
            return f"Leaf {entry.leaf:,}, which this entry does not match"
        checkpoint = Checkpoint.objects.filter(size__gt=entry.leaf).order_by("size").first()
        if checkpoint is None:
            return "Not sealed yet"
        return format_html(
            "Leaf {}; sealed by the checkpoint of {}, with {} entries",
            f"{entry.leaf:,}",
            time_tag(checkpoint.sealed_at),
            f"{checkpoint.size:,}",
        )

    def line(self, entry: Any) -> dict[str, Any]:
        """The entry in one line: how it is coloured, and the texts of its columns."""

        def link(text: str, field: str) -> str:
            return page_link(entry.pages, text, field, getattr(entry, field))

        key = link(entry.key_label, "key_id")
        parts = [
            key if entry.person else "",  # a key that acted itself is who did it
            link(entry.document_title, "document_id"),
            entry.member,
            entry.file_type,
            entry.byte_range and f"bytes {entry.byte_range}",
            " ".join(entry.detail.split()),
        ]
        sealed = pill("quiet", "not sealed yet") if entry.waits else ""
        if not entry.intact:
            sealed = pill("bad", "changed")
        return {
            "entry": entry,
            "colour": entry.colour,
            "word": entry.action_label,
            "who": entry.person or key,
            "what": format_html_join(", ", "{}", ((isolated(part),) for part in parts if part)),
            "sealed": sealed,
        }
