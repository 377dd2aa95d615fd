"""Workspaces: read by their admins, managed by operators; accounts: managed by operators."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin  # registers the two below
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import BaseInlineFormSet, ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.links import AuditHistory
from config.admin.base import (
    NoPermissions,
    SectionAdmin,
    StrictFilterAdmin,
    TabularInline,
    request_user,
)
from config.admin.formatting import date_column
from workspaces import changes
from workspaces.forms import MembershipForm, WorkspaceForm
from workspaces.models import Membership, Workspace
from workspaces.permissions import administered_by, is_operator, is_workspace_admin

if TYPE_CHECKING:
    AccountAdmin = UserAdmin[User]
else:  # generic only in the stubs
    AccountAdmin = UserAdmin

admin.site.unregister(User)
admin.site.unregister(Group)


class OperatorsOnly(NoPermissions):
    """Allows operators everything except deleting."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    has_add_permission = has_change_permission = has_view_permission


class MembershipInline(OperatorsOnly, TabularInline):
    """The members of a workspace, on its page."""

    model = Membership
    form = MembershipForm
    readonly_fields = ("login",)
    autocomplete_fields = ("user",)
    ordering = ("user__username",)
    extra = 0
    verbose_name = "member"
    verbose_name_plural = "members"

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, str]:
        # Only operators may open a user's page, so nobody else gets a link to it.
        return ("user" if is_operator(request_user(request)) else "login", "role")

    @admin.display(description="user")
    def login(self, membership: Membership) -> str:
        return membership.user.get_username()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        memberships: QuerySet[Membership] = super().get_queryset(request)
        return memberships.select_related("user", "workspace")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True  # of a workspace that the user may see

    has_delete_permission = OperatorsOnly.has_view_permission


@admin.register(Workspace)
class WorkspaceAdmin(AuditHistory, SectionAdmin):
    """`manage.py create_workspace` creates workspaces; they cannot be deleted here."""

    audit_lookup = "workspace_id"
    description = "Plan, state and members."
    menu_position = 50
    form = WorkspaceForm
    inlines = (MembershipInline,)
    list_display = ("name", "plan_name", "state", "created")
    list_per_page = 50
    search_fields = ("name",)
    search_help_text = "Any part of a name"
    sortable_by = ("name", "created")
    ordering = ("name", "id")
    actions = None
    readonly_fields = ("name", "id", "state", "created")
    created = date_column("created_at", "created", ordering=True)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        state = "suspended" if is_operator(request_user(request)) else "state"
        return ("name", "id", "plan", state, "created")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        workspaces: QuerySet[Workspace] = super().get_queryset(request)
        if is_operator(request_user(request)):
            return workspaces
        return workspaces.filter(pk__in=administered_by(request_user(request)))

    def has_view_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        if is_operator(request_user(request)):
            return True
        if obj is None:
            return is_workspace_admin(request_user(request))
        return administered_by(request_user(request)).filter(pk=obj.pk).exists()

    def has_change_permission(self, request: HttpRequest, obj: Workspace | None = None) -> bool:
        return is_operator(request_user(request))

    @admin.display(description="plan")
    def plan_name(self, workspace: Workspace) -> str:
        return workspace.get_plan_display()

    @admin.display(description="state")
    def state(self, workspace: Workspace) -> SafeString:
        if workspace.suspended:
            return format_html('<span class="state">{}</span>', "Suspended")
        return format_html("{}", "Active")

    def save_model(
        self, request: HttpRequest, obj: Workspace, form: "ModelForm[Workspace]", change: bool
    ) -> None:
        by = request_user(request).get_username()
        changes.change_plan(obj, obj.plan, by=by)
        changes.set_suspended(obj, obj.suspended, by=by)

    def save_formset(
        self,
        request: HttpRequest,
        form: "ModelForm[Workspace]",
        formset: "BaseInlineFormSet[Membership, Workspace, MembershipForm]",
        change: bool,
    ) -> None:
        by = request_user(request).get_username()
        formset.save(commit=False)
        for membership in formset.deleted_objects:
            changes.remove_member(membership, by=by)
        for membership, _ in formset.changed_objects:
            changes.change_role(membership, membership.role, by=by)
        for membership in formset.new_objects:
            changes.add_member(membership, by=by)
        self.warn_of_locked_out_admins(request, form.instance)

    def warn_of_locked_out_admins(self, request: HttpRequest, workspace: Workspace) -> None:
        """Warns if an admin's account cannot sign in, since nothing else shows that."""
        admins = workspace.memberships.filter(role=Membership.Role.ADMIN)
        locked_out = admins.difference(Membership.objects.admins().filter(workspace=workspace))
        for membership in locked_out:
            messages.warning(
                request,
                f"{membership.user} is an admin here but cannot sign in: the account is not "
                "active, or lacks staff status.",
            )


@admin.register(User)
class AccountsAdmin(OperatorsOnly, StrictFilterAdmin, AccountAdmin):
    """Accounts, for operators. They can be deactivated but not deleted, which would delete
    memberships too."""

    description = "Who may sign in. Put support staff into the group Support."
    list_display = ("username", "first_name", "last_name", "is_active", "is_staff", "is_superuser")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_help_text = "Any part of a name, or of an e-mail address"
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("User", {"fields": ("first_name", "last_name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")

    has_module_permission = OperatorsOnly.has_view_permission

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Denies first; Django would look up the account first and so reveal whether it exists."""
        if not is_operator(request_user(request)):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)
