"""Workspaces: read by their admins and support staff, made and changed by operators."""

import re
from itertools import chain
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from audit.models import Action, AuditEntry
from audit.scope import scope_of
from config.console.base import ADMINS, READ_ALL, SectionAdmin, request_user
from config.console.formatting import urgency
from config.console.identify import Kind
from config.console.object_page import Button, ObjectPage
from workspaces.admin.access import ChangePlan, CreateWorkspace, Reinstate, Rename, Suspend
from workspaces.admin.people import ChangeMember, Invite, RevokeInvitation
from workspaces.api_access import access_warning
from workspaces.models import Workspace
from workspaces.permissions import is_operator, may_manage_members
from workspaces.plans import label_of


class WorkspacePage(ObjectPage):
    template_name = "admin/workspaces/workspace/page.html"
    obj: Workspace

    def context(self) -> dict[str, Any]:
        workspace, user = self.obj, self.user
        members: Any = workspace.memberships.select_related("user")
        pending: Any = workspace.invitations.pending()
        entry = AuditEntry.newest(Action.WORKSPACE_SUSPENDED, workspace_id=workspace.pk)
        site: Any = self.section.admin_site
        sections = site.sections(self.request)
        looks = chain.from_iterable(each.needs_a_look(self.request) for each in sections)
        return {
            "title": workspace.name,
            "workspace": workspace,
            "plan": label_of(workspace.plan),
            "suspension": entry if workspace.suspended else None,
            "warning": access_warning(workspace),
            "members": members.order_by("role", "user__username"),
            "pending": pending.select_related("created_by").order_by("created_at"),
            "warnings": sorted((why for id, _, why in looks if id == workspace.pk), key=urgency),
            "may_manage": may_manage_members(user, workspace),
            "is_own": Workspace.objects.administered_by(user).contains(workspace),
        }


class SwitchTo(Button):
    obj: Workspace

    def is_allowed(self) -> bool:
        return Workspace.objects.administered_by(self.user).contains(self.obj)

    def run(self) -> HttpResponse:
        """To the list that the user came from, or the start page: of this workspace from now on."""
        site: Any = self.section.admin_site
        lists = {each.list_url() for each in site.sections(self.request) if each != self.section}
        back = self.request.POST.get("back", "").partition("?")[0]
        found = [url for url in lists if back.endswith(url)]
        return HttpResponseRedirect(found[0] if found else reverse("admin:index"))


@admin.register(Workspace)
class WorkspaceAdmin(SectionAdmin):
    title = "Workspaces"
    seen_by = (READ_ALL, ADMINS)
    add_text = "Create a workspace"
    pages = {
        "add": CreateWorkspace,
        "switch": SwitchTo,
        "change": WorkspacePage,
        "rename": Rename,
        "suspend": Suspend,
        "reinstate": Reinstate,
        "plan": ChangePlan,
        "members": ChangeMember,
        "invite": Invite,
        "revoke-invitation": RevokeInvitation,
    }
    search_fields = ("name", "memberships__user__username__iexact", "^id")
    search_help_text = "A part of a name, a member’s e-mail, or the beginning of an id"
    ordering = ("name", "id")
    found_by = {Kind.EMAIL: "memberships__user__username__iexact", Kind.TEXT: "name__iexact"}

    # --- Who sees what

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workspace]:
        workspaces: QuerySet[Workspace] = super().get_queryset(request)
        return workspaces.filter(scope_of(request).visible("pk"))

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        workspace = super().get_object(request, object_id, from_field)
        scope_of(request).look_at(getattr(workspace, "pk", None))
        return workspace

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    # --- The list

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list; for admins of one workspace, its page."""
        scope = scope_of(request)
        if not scope.everything and len(scope.own[:2]) == 1:
            return HttpResponseRedirect(scope.workspace.get_absolute_url())
        return super().changelist_view(request, extra_context)

    def get_list_filter(self, request: HttpRequest) -> tuple[str, ...]:
        return ("suspended", "plan") if scope_of(request).everything else ()

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        """By a name or an id, whose beginnings are enough for those who see all."""
        if kind != Kind.TEXT or not scope_of(request).everything:
            return super().find(request, kind, text)
        begins = Q(name__istartswith=text)
        if re.fullmatch("[0-9a-f]{8}", text):  # as beside names that several have
            begins |= Q(pk__range=(UUID(text + "0" * 24), UUID(text + "f" * 24)))
        return self.url_of_found(self.get_queryset(request).filter(begins), text)
