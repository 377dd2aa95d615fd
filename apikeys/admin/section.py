"""The section of the keys: their list, its filters and actions, and its pages."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from apikeys.admin.changelist import KeyChangeList, StateFilter, UsedFilter, WorkspaceFilter
from apikeys.admin.create import CreateKey, EditKey, RollKey
from apikeys.admin.end import DeleteKeys, EndKeys, RevokeKeys
from apikeys.admin.key_page import KeyPage
from apikeys.admin.texts import ended_warning, expiry_warning, limit_warning, refusal_warning
from apikeys.models import ApiKey
from apikeys.states import ENDED
from apikeys.usage import panels, report
from audit.admin.links import AuditHistory
from audit.admin.search import parsed, redirect_without_key
from config.console.formatting import Bad
from workspaces.directory import own_workspaces
from workspaces.models import Workspace


@admin.register(ApiKey)
class ApiKeyAdmin(AuditHistory):
    """The list of keys, and the pages that it leads to.

    Only admins of a key's workspace see it: not support staff, not operators. All access goes
    through `get_queryset`, so that for anybody else the key does not exist.
    """

    nouns = "developer settings"  # as the 401 calls the place where a key is created
    audit_lookup = "key_id"
    menu_position = 10
    add_text = "Create a key"
    search_fields = ["name", "prefix", "note"]
    search_help_text = "Any part of a name or note, or the first characters"
    list_filter = [StateFilter, UsedFilter, WorkspaceFilter]
    list_display = ("name", "state", "usage", "last_used_at", "created")
    list_per_page = 50
    sortable_by = ("name", "last_used_at", "created")
    actions = ("revoke_selected", "delete_selected")
    actions_selection_counter = True
    pages = {
        "add": CreateKey,
        "change": KeyPage,
        "edit": EditKey,
        "roll": RollKey,
        "revoke": RevokeKeys,
        "delete": DeleteKeys,
    }

    def heading(self, obj: ApiKey) -> str:
        return obj.name

    # --- Access

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        keys = keys.filter(workspace__in=list(own_workspaces(request)))
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_view_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        own = own_workspaces(request)
        return bool(own) if obj is None else obj.workspace_id in own

    has_add_permission = has_delete_permission = has_view_permission

    def has_pages_of(self, request: HttpRequest, workspace_id: UUID | None) -> bool:
        return workspace_id in own_workspaces(request)

    # --- The list

    def get_ordering(self, request: HttpRequest) -> Any:
        """The newest first; those that have ended after all others."""
        return [Case(When(ENDED, then=Value(1)), default=Value(0)), "-created_at", "-id"]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[KeyChangeList]:
        return KeyChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ApiKey], search_term: str
    ) -> tuple[QuerySet[ApiKey], bool]:
        """Finds an id too, as a whole."""
        if key_id := parsed(search_term.strip()):
            return queryset.filter(pk=key_id), False
        return super().get_search_results(request, queryset, search_term)

    # The names of two columns; the list's template fills the cells.

    @admin.display(description="last 30 days")
    def usage(self, key: ApiKey) -> str:
        raise NotImplementedError

    @admin.display(description="created", ordering="created_at")
    def created(self, key: ApiKey) -> str:
        raise NotImplementedError

    @admin.action(description="Revoke selected keys", permissions=["delete"])
    def revoke_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponseBase:
        return self.end_selected(RevokeKeys, request, keys)

    @admin.action(description="Delete selected keys", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> HttpResponseBase:
        return self.end_selected(DeleteKeys, request, keys)

    def end_selected(
        self, page: type[EndKeys], request: HttpRequest, keys: QuerySet[ApiKey]
    ) -> HttpResponseBase:
        return page.as_view(section=self, selected=tuple(keys))(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(
            request, {"title": self.list_title(request)}
        )

    def list_title(self, request: HttpRequest) -> str:
        """ "Acme · Developer settings", if the keys of one workspace are shown."""
        own = own_workspaces(request)
        chosen = parsed(request.GET.get(WorkspaceFilter.parameter_name, ""))
        if chosen is None and len(own) == 1:
            [chosen] = own
        title, name = capfirst(self.nouns), own.get(chosen) if chosen else None
        return f"{name} · {title}" if name else title

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """The user's own workspaces whose keys are refused, then keys with problems."""
        own = own_workspaces(request)
        workspaces = Workspace.objects.filter(pk__in=list(own)).order_by("name", "id")
        expiring = ApiKey.objects.expiring().filter(workspace__in=list(own))
        return [
            *map(Bad, filter(None, map(refusal_warning, workspaces))),
            *map(ended_warning, report.refused_ended_keys(own)),
            *map(limit_warning, report.limited_keys(own)),
            *map(expiry_warning, expiring.select_related("replaced_by").order_by("expires_at")),
        ]

    def looks_at(self, request: HttpRequest) -> str:
        return "API access and keys"

    def panels(self, request: HttpRequest) -> list[SafeString]:
        return panels.of_workspaces(own_workspaces(request))
