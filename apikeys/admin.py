"""Developer settings: a workspace's keys, for its admins; support staff see them."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Case, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse

from apikeys import admin_page
from apikeys.admin_access import expiry_warning, refusal_warning
from apikeys.admin_list import KeyChangeList, StateFilter, UsedFilter, WorkspaceFilter, parsed
from apikeys.admin_new import NewKeyAdmin
from apikeys.life import DeletedKey, deleted_key
from apikeys.managers import ENDED
from apikeys.models import ApiKey
from audit.admin.search import redirect_without_key
from audit.scope import scope_of
from config.admin.base import request_user
from config.admin.changelist import READING
from workspaces.directory import own_workspaces
from workspaces.models import Workspace, label
from workspaces.permissions import administered_by, sees_every_workspace


@admin.register(ApiKey)
class ApiKeyAdmin(NewKeyAdmin):
    """Keys can be created, rolled, revoked and deleted, but not changed."""

    description = "Let your software read documents. Create, roll, revoke and delete keys here."
    menu_position = 10
    add_text = "Create a key"
    search_fields = ["name", "prefix", "note"]
    search_help_text = "Any part of a name or note, or the first characters"
    list_filter = [StateFilter, UsedFilter, WorkspaceFilter]
    list_display = ("name", "state", "usage", "last_used_at", "created")
    list_per_page = 50
    sortable_by = ("name", "last_used_at", "created")
    actions_selection_counter = True

    def description_for(self, request: HttpRequest) -> str:
        """Support staff and operators see keys; only admins of a workspace change them."""
        if own_workspaces(request):
            return self.description
        return "Find a key of any workspace: whether it works, its usage and its refused requests."

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

    # The names of two columns; the list's template fills the cells (`apikeys.admin_list.Row`).

    @admin.display(description="last 30 days")
    def usage(self, key: ApiKey) -> str:
        raise NotImplementedError

    @admin.display(description="created", ordering="created_at")
    def created(self, key: ApiKey) -> str:
        raise NotImplementedError

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method not in READING and not self.has_delete_permission(request):
            raise PermissionDenied
        return redirect_without_key(request) or super().changelist_view(
            request,
            {
                "title": self.list_title(request),
                "sees_all": sees_every_workspace(request_user(request)),
            },
        )

    def list_title(self, request: HttpRequest) -> str:
        """ "Acme · API keys", if the keys of one workspace are shown."""
        own = own_workspaces(request)
        chosen = parsed(request.GET.get(WorkspaceFilter.parameter_name, ""))
        if chosen is None:
            return f"{next(iter(own.values()))} · API keys" if len(own) == 1 else "API keys"
        if chosen in own:
            return f"{own[chosen]} · API keys"
        if not sees_every_workspace(request_user(request)):
            return "API keys"
        name = Workspace.objects.filter(pk=chosen).values_list("name", flat=True).first()
        return f"{label(chosen, name)} · API keys" if name else "API keys"

    def urgent_warnings(self, request: HttpRequest) -> list[str]:
        """The user's own workspaces whose keys are refused, then the keys that expire soon."""
        own = administered_by(request_user(request)).order_by("name", "id")
        refusals = (refusal_warning(workspace) for workspace in own)
        return [*filter(None, refusals), *self.expiry_warnings(own)]

    def expiry_warnings(self, own: QuerySet[Workspace]) -> list[str]:
        """The keys that expire within 14 days, the first to expire first."""
        keys = ApiKey.objects.expiring().filter(workspace__in=own).order_by("expires_at")
        return [
            expiry_warning(key, key.expires_at)
            for key in keys.select_related("replaced_by")
            if key.expires_at
        ]

    # --- A key's page

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        key = self.key_or_deleted(request, object_id)
        if request.method not in READING:
            raise PermissionDenied
        names = own_workspaces(request)
        name = key.workspace.name if isinstance(key, ApiKey) else key.workspace_name
        return self.page(
            request,
            "admin/apikeys/apikey/key.html",
            title=key.name,
            may_change=isinstance(key, ApiKey) and key.workspace_id in names,
            **admin_page.context(
                key,
                names.get(key.workspace_id) or label(key.workspace_id, name),
                for_support=sees_every_workspace(request_user(request)),
            ),
        )

    def key_or_deleted(self, request: HttpRequest, object_id: str) -> ApiKey | DeletedKey:
        """The key, or what the audit log has of a deleted one.

        Raises:
            PermissionDenied, Http404: as `visible_or_404`.
        """
        try:
            key: ApiKey = self.visible_or_404(request, object_id)
        except Http404:
            key_id = parsed(object_id)
            deleted = deleted_key(key_id) if key_id else None
            if deleted is None or not scope_of(request).includes(deleted.workspace_id):
                raise
            return deleted
        return key
