"""Suspending and reinstating a workspace, and moving it to another plan: each with a reason."""

from copy import copy
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path

from config.admin.base import SectionAdmin, request_user
from config.admin.reauthentication import recent_sign_in_required
from workspaces import changes, effects
from workspaces.api_access import access_warning
from workspaces.forms import PlanForm, ReasonForm
from workspaces.links import page_url
from workspaces.models import Workspace
from workspaces.permissions import is_operator
from workspaces.plans import Plan

CONFIRM = "admin/workspaces/workspace/confirm.html"


def consequences(workspace: Workspace, **changed: Any) -> list[str]:
    """What stops or works again if these fields of the workspace change."""
    after = copy(workspace)
    for name, value in changed.items():
        setattr(after, name, value)
    works_before, works_after = (not access_warning(each) for each in (workspace, after))
    if works_before != works_after:
        return effects.sentences(workspace, works=works_after)
    if works_after:
        return ["Its keys keep working."]
    return ["Its keys do not work now, and will not work afterwards either."]


class AccessPages(SectionAdmin):
    """The pages, for operators."""

    def get_urls(self) -> list[URLPattern]:
        pages = {
            "suspend": self.suspend_view,
            "reinstate": self.reinstate_view,
            "plan": self.plan_view,
        }
        return [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"workspaces_workspace_{name}",
            )
            for name, view in pages.items()
        ] + super().get_urls()

    def for_operator(self, request: HttpRequest, object_id: str) -> Workspace:
        """The workspace, to change it.

        Raises:
            PermissionDenied: the user is no operator.
            Http404: there is no such workspace.
            PasswordNeeded: the password must be entered again.
        """
        workspace: Workspace = self.visible_or_404(request, object_id)
        if not is_operator(request_user(request)):
            raise PermissionDenied
        recent_sign_in_required(request)
        return workspace

    def suspend_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._set_suspended(request, self.for_operator(request, object_id), suspended=True)

    def reinstate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._set_suspended(request, self.for_operator(request, object_id), suspended=False)

    def _set_suspended(
        self, request: HttpRequest, workspace: Workspace, *, suspended: bool
    ) -> HttpResponse:
        if workspace.suspended == suspended:
            messages.info(request, f"{workspace} is {state_of(workspace).lower()} already.")
            return HttpResponseRedirect(page_url(workspace))
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            by, reason = request_user(request).get_username(), form.cleaned_data["reason"]
            changes.set_suspended(workspace, suspended, by=by, reason=reason)
            done = "suspended" if suspended else "reinstated"
            messages.success(request, f"{workspace.label} is {done}.")
            return HttpResponseRedirect(page_url(workspace))
        verb = "Suspend" if suspended else "Reinstate"
        return self.page(
            request,
            CONFIRM,
            title=f"{verb} {workspace.label}?",
            sentences=consequences(workspace, suspended=suspended),
            form=form,
            button=f"{verb} {workspace}",
            danger=suspended,
            **self.place(request, workspace),
        )

    def plan_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        workspace = self.for_operator(request, object_id)
        form = PlanForm(request.POST if request.method == "POST" else None, workspace=workspace)
        if not form.is_valid():
            return self.page(
                request,
                CONFIRM,
                title=f"Move {workspace.label} to another plan",
                sentences=[f"It is on {plan_of(workspace)} now."],
                form=form,
                button="Continue",
                **self.place(request, workspace),
            )
        plan, reason = form.cleaned_data["plan"], form.cleaned_data["reason"]
        if "confirmed" not in request.POST:
            return self.page(
                request,
                CONFIRM,
                title=f"Move {workspace.label} from {plan_of(workspace)} to {Plan(plan).label}?",
                sentences=[*consequences(workspace, plan=plan), f"Reason: {reason}"],
                hidden={"plan": plan, "reason": reason, "confirmed": "yes"},
                button=f"Move {workspace} to {Plan(plan).label}",
                **self.place(request, workspace),
            )
        by = request_user(request).get_username()
        changes.change_plan(workspace, plan, by=by, reason=reason)
        messages.success(request, f"{workspace.label} is on {Plan(plan).label} now.")
        return HttpResponseRedirect(page_url(workspace))

    def place(self, request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
        """Where the page is: its breadcrumbs, and the way back."""
        raise NotImplementedError


def state_of(workspace: Workspace) -> str:
    return "Suspended" if workspace.suspended else "Active"


def plan_of(workspace: Workspace) -> str:
    """The plan's name; a plan that is no longer offered has none."""
    if workspace.plan in Plan.values:
        return str(Plan(workspace.plan).label)
    return f"{workspace.plan} (no longer offered)"
