"""Workspaces: read by their admins and support staff, made and changed by operators."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.links import AuditHistory
from audit.models import Action, AuditEntry
from audit.queries import newest_of
from config.admin.base import SectionAdmin, request_user
from config.admin.formatting import date_column
from config.admin.reauthentication import recent_sign_in_required
from workspaces import changes
from workspaces.admin.access import CONFIRM, AccessPages, plan_of, state_of
from workspaces.admin.invitations import InvitationPages
from workspaces.admin.members import MemberPages
from workspaces.api_access import access_warning
from workspaces.directory import label_for, own_workspaces
from workspaces.forms import NewWorkspaceForm
from workspaces.links import page_url
from workspaces.models import Membership, Workspace
from workspaces.permissions import (
    administered_by,
    is_operator,
    may_manage_members,
    sees_every_workspace,
)

LIST = "admin:workspaces_workspace_changelist"


@admin.register(Workspace)
class WorkspaceAdmin(MemberPages, InvitationPages, AccessPages, AuditHistory, SectionAdmin):
    """A list, and a page for each workspace. Workspaces cannot be deleted."""

    audit_lookup = "workspace_id"
    menu_position = 50
    add_text = "Create a workspace"
    description = "Plan, state, members and invitations."
    list_display = ("named", "plan_name", "state", "created")
    list_display_links = ("named",)
    list_per_page = 50
    search_fields = ("name",)
    search_help_text = "Any part of a name, or the first 8 characters of an id or more"
    sortable_by = ("named", "created")
    ordering = ("name", "id")
    actions = None
    created = date_column("created_at", "created", ordering=True)

    # --- Who sees what

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        workspaces: QuerySet[Workspace] = super().get_queryset(request)
        if sees_every_workspace(request_user(request)):
            return workspaces
        return workspaces.filter(pk__in=administered_by(request_user(request)))

    def has_view_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        if sees_every_workspace(request_user(request)):
            return True
        if obj is None:
            return bool(own_workspaces(request))
        return administered_by(request_user(request)).filter(pk=obj.pk).exists()

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    # --- The list

    def get_list_filter(self, request: HttpRequest) -> tuple[str, ...]:
        return ("suspended", "plan") if sees_every_workspace(request_user(request)) else ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Workspace], search_term: str
    ) -> tuple[QuerySet[Workspace], bool]:
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        if ids := ids_beginning_with(search_term):
            found |= queryset.filter(pk__range=ids)
        return found, may_repeat

    @admin.display(description="name", ordering="name")
    def named(self, workspace: Workspace) -> str:
        return workspace.label

    @admin.display(description="plan")
    def plan_name(self, workspace: Workspace) -> str:
        return plan_of(workspace)

    @admin.display(description="state")
    def state(self, workspace: Workspace) -> SafeString:
        kind = "bad" if workspace.suspended else "ok"
        return format_html('<span class="pill pill-{}">{}</span>', kind, state_of(workspace))

    # --- A workspace's page

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        workspace: Workspace = self.visible_or_404(request, object_id)
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        user = request_user(request)
        own = administered_by(user).filter(pk=workspace.pk).exists()
        members: Any = workspace.memberships.select_related("user__confirmed_address")
        pending: Any = workspace.invitations.pending()
        return self.page(
            request,
            "admin/workspaces/workspace/page.html",
            title=label_for(user, workspace),
            workspace=workspace,
            plan=plan_of(workspace),
            plan_entry=newest_of(workspace.pk, Action.PLAN_CHANGED),
            state_entry=state_entry(workspace),
            warning=access_warning(workspace),
            members=members.order_by("role", "user__username"),
            roles=Membership.Role.choices,
            pending=pending.select_related("created_by").order_by("created_at"),
            history_url=self.history_url(workspace),
            is_operator=is_operator(user),
            may_manage=may_manage_members(user, workspace),
            sees_keys=own or sees_every_workspace(user),
        )

    def place(self, request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
        label, url = label_for(request_user(request), workspace), page_url(workspace)
        return {"crumbs": [self.crumb(), (label, url)], "back": url}

    # --- A new one

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        recent_sign_in_required(request)
        form = NewWorkspaceForm(request.POST if request.method == "POST" else None)
        place = {"back": reverse(LIST)}
        if not form.is_valid():
            template = "admin/workspaces/workspace/form.html"
            title, button = "Create a workspace", "Create the workspace"
            return self.page(request, template, title=title, form=form, button=button, **place)
        others = changes.with_the_same_name(form.cleaned_data["name"])
        if others and "confirmed" not in request.POST:
            return self.page(
                request,
                CONFIRM,
                title=f"Create another “{form.cleaned_data['name']}”?",
                sentences=["There is one with that name already:"],
                others=others,
                hidden={**form.cleaned_data, "confirmed": "yes"},
                button="Create another one",
                **place,
            )
        workspace: Workspace = form.save(commit=False)
        changes.create_workspace(workspace, by=request_user(request).get_username())
        messages.success(request, f"{workspace.label} was created. Invite its first admin now.")
        return HttpResponseRedirect(page_url(workspace))


def ids_beginning_with(text: str) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin with this text; None if it is no beginning of an id."""
    digits = text.strip().replace("-", "").lower()
    if not 8 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def state_entry(workspace: Workspace) -> AuditEntry | None:
    """The entry of the suspension or reinstatement that led to the present state."""
    actions = (Action.WORKSPACE_SUSPENDED, Action.WORKSPACE_REINSTATED)
    entry = newest_of(workspace.pk, *actions)
    wanted = actions[0] if workspace.suspended else actions[1]
    return entry if entry and entry.action == wanted else None
