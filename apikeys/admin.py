"""Developer settings: a workspace's keys, for the admins of that workspace only."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apikeys.admin_actions import KeyActionsAdmin, last_used
from apikeys.forms import NewKeyForm
from apikeys.models import AlreadyIssued, ApiKey
from audit.export_views import redirect_without_key
from config.admin.base import request_user
from config.admin.formatting import ago_with_exact, exact
from workspaces.api_access import access_warning
from workspaces.permissions import administered_by, is_workspace_admin


class StateFilter(admin.SimpleListFilter):
    """Active or revoked."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        if self.value() in ("active", "revoked"):
            return queryset.filter(revoked_at__isnull=self.value() == "active")
        return queryset


class WorkspaceFilter(admin.SimpleListFilter):
    """The user's own workspaces; any other id matches no keys."""

    title = "workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        own: Any = administered_by(request.user).order_by("name", "id")
        names = [(str(workspace.pk), workspace.name) for workspace in own]
        return names if len(names) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        chosen = self.value()
        if chosen is None:
            return queryset
        ids = [value for value, _ in self.lookup_choices]
        return queryset.filter(workspace_id=chosen) if chosen in ids else queryset.none()


@admin.register(ApiKey)
class ApiKeyAdmin(KeyActionsAdmin):
    """Keys can be created, revoked and deleted, but not changed.

    All access goes through `get_queryset`, so that a key of another workspace does not exist for
    the user.
    """

    audit_lookup = "key_id"
    description = "Let your software read documents. Create, revoke and delete keys here."
    menu_position = 10
    add_text = "Create a key"
    search_fields = ["name", "prefix"]
    search_help_text = "Any part of a name, or of the first characters"
    list_filter = [StateFilter, WorkspaceFilter]
    list_display_links = ["name"]
    list_per_page = 50
    sortable_by = ["name", "created"]
    ordering = ["-created_at", "-id"]
    actions_selection_counter = True
    fields = readonly_fields = (
        "name",
        "first_characters",
        "workspace",
        "created",
        "last_used_exact",
        "state",
    )

    # --- Permissions

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        own = administered_by(request_user(request))
        keys = super().get_queryset(request).filter(workspace__in=own)
        return keys.select_related("workspace", "created_by", "revoked_by")

    def has_view_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        if obj is None:
            return is_workspace_admin(request_user(request))
        return administered_by(request_user(request)).filter(pk=obj.workspace_id).exists()

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_workspace_admin(request_user(request))

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return self.has_view_permission(request, obj)

    # --- The list and a key's page

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        several = administered_by(request_user(request)).count() > 1
        workspace = ["workspace"] if several else []
        return ["name", "first_characters", *workspace, "created", "last_used", "state"]

    @admin.display(description="first characters")
    def first_characters(self, key: ApiKey) -> SafeString:
        return format_html("<code>{}…</code>", key.prefix)

    @admin.display(description="created", ordering="created_at")
    def created(self, key: ApiKey) -> str:
        return time_and_user(key.created_at, key.created_by)

    @admin.display(description="last used")
    def last_used(self, key: ApiKey) -> str:
        return ago_with_exact(key.last_used_at) if key.last_used_at else "never"

    @admin.display(description="last used")
    def last_used_exact(self, key: ApiKey) -> str:
        return last_used(key)

    @admin.display(description="state")
    def state(self, key: ApiKey) -> SafeString:
        if key.revoked_at is None:
            return format_html('<span class="state">{}</span>', "Active")
        return format_html(
            '<span class="state ended">Revoked</span> {}',
            time_and_user(key.revoked_at, key.revoked_by),
        )

    def warnings(self, request: HttpRequest) -> list[str]:
        """For each workspace of the user whose keys do not work at present, the reason."""
        workspaces = administered_by(request_user(request))
        return [text for each in workspaces if (text := access_warning(each))]

    def heading(self, obj: ApiKey) -> str:
        return "API key"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return redirect_without_key(request) or super().changelist_view(request, extra_context)

    # --- Creating one

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = NewKeyForm(request.POST or None, by=request_user(request))
        if request.method == "POST" and form.is_valid():
            return self.create(request, form)
        return self.page(
            request,
            "admin/apikeys/apikey/new.html",
            title="Create an API key",
            form=form,
            warnings=self.warnings(request),
        )

    def create(self, request: HttpRequest, form: NewKeyForm) -> HttpResponse:
        """The page with the raw key: the response to this POST is the only one that contains it."""
        workspace = form.chosen_workspace()
        try:
            key, raw = ApiKey.objects.issue(
                workspace=workspace,
                name=form.cleaned_data["name"],
                by=request_user(request),
                id=form.cleaned_data["key_id"],
            )
        except AlreadyIssued:
            messages.warning(
                request,
                "Nothing was created: this form has already created its key. A key is shown only "
                "once; if you did not copy it, delete it and create another.",
            )
            return HttpResponseRedirect(reverse("admin:apikeys_apikey_changelist"))
        return self.page(
            request,
            "admin/apikeys/apikey/created.html",
            title="API key created",
            key=key,
            raw=raw,
            warnings=filter(None, [access_warning(workspace)]),
            url=request.build_absolute_uri(reverse("me")),
        )


def time_and_user(moment: datetime, by: User | None) -> str:
    """The time, and the user unless the account is deleted."""
    return f"{exact(moment)} by {by.get_username()}" if by else exact(moment)
