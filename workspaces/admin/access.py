"""What operators do with a workspace: create, suspend and reinstate it, and change its plan."""

from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.template.defaultfilters import pluralize
from django.urls import reverse

from config.console.object_page import ActionPage, Prompt, Refused
from workspaces import changes, mails
from workspaces.api_access import access_warning
from workspaces.forms import NewWorkspaceForm, ReasonForm
from workspaces.models import Membership, Workspace
from workspaces.permissions import is_operator
from workspaces.plans import Plan

COUNTED = 1000  # deliveries


def state_of(workspace: Workspace) -> str:
    return "Suspended" if workspace.suspended else "Active"


def plan_of(workspace: Workspace) -> str:
    if workspace.plan in Plan.values:
        return str(Plan(workspace.plan).label)
    return f"{workspace.plan} (no longer offered)"


class WorkspaceAction(ActionPage):
    obj: Workspace

    def is_allowed(self) -> bool:
        return is_operator(self.user)

    @property
    def name(self) -> str:
        return self.obj.name


class CreateWorkspace(WorkspaceAction):
    form_class = NewWorkspaceForm

    def prompt(self) -> Prompt:
        return Prompt(title="Create a workspace", button="Create the workspace")

    def run(self) -> str | HttpResponse:
        name = self.form.cleaned_data["name"]
        others = changes.with_the_same_name(name)
        if others and not self.is_confirmed():
            sentences = ["There is one with that name already:", *(each.label for each in others)]
            title, button = f"Create another “{name}”?", "Create another one"
            prompt = Prompt(title=title, button=button, sentences=sentences)
            return self.ask(prompt, confirming=True)
        workspace: Workspace = self.form.save(commit=False)
        changes.create_workspace(workspace, by=self.login)
        self.obj = workspace
        return f"{workspace.label} was created. Invite its first admin now."

    @property
    def next_url(self) -> str:
        return reverse("admin:workspaces_workspace_invite", args=[self.obj.pk])


class Suspend(WorkspaceAction):
    form_class = ReasonForm
    suspends = True
    verb, done = "Suspend", "suspended"

    def check(self) -> None:
        if self.obj.suspended == self.suspends:
            raise Refused(f"{self.obj} is {state_of(self.obj).lower()} already.")

    def prompt(self) -> Prompt:
        return Prompt(
            title=f"{self.verb} {self.obj.label}?",
            button=f"{self.verb} {self.obj}",
            sentences=[*consequences(self.obj, suspended=self.suspends), admins_of(self.obj)],
            danger=self.suspends,
        )

    def run(self) -> str:
        reason = self.form.cleaned_data["reason"]
        changes.set_suspended(self.obj, self.suspends, by=self.login, reason=reason)
        return f"{self.obj.label} is {self.done}."


class Reinstate(Suspend):
    suspends = False
    verb, done = "Reinstate", "reinstated"


class ChangePlan(WorkspaceAction):
    form_class = ReasonForm
    template_name = "admin/workspaces/workspace/plan.html"

    def prompt(self) -> Prompt:
        return Prompt(
            title=f"Move {self.obj.label} to another plan",
            button="",
            sentences=[f"It is on {plan_of(self.obj)} now."],
        )

    def context(self) -> dict[str, Any]:
        others = [plan for plan in Plan if plan != self.obj.plan]
        return {"plans": [(plan, consequences(self.obj, plan=plan)) for plan in others]}

    def run(self) -> str:
        plan, reason = self.request.POST.get("plan", ""), self.form.cleaned_data["reason"]
        if plan not in Plan.values:
            raise ValidationError("Choose a plan.")
        changes.change_plan(self.obj, plan, by=self.login, reason=reason)
        return f"{self.obj.label} is on {Plan(plan).label} now."


def consequences(workspace: Workspace, **changed: Any) -> list[str]:
    after = copy(workspace)
    for name, value in changed.items():
        setattr(after, name, value)
    works_before, works_after = (not access_warning(each) for each in (workspace, after))
    if works_before != works_after:
        verb = "work again" if works_after else "stop"
        return [
            f"Any keys that it has {verb} with the next request.",
            _of_webhooks(workspace, works_after),
        ]
    if works_after:
        return ["Any keys that it has keep working."]
    return ["No key of it works now, and none will work afterwards either."]


def _of_webhooks(workspace: Workspace, works: bool) -> str:
    endpoints = workspace.endpoints.existing()
    on = endpoints.filter(enabled=True).count()
    waiting = endpoints.filter(deliveries__state="PENDING").values("deliveries")[:COUNTED].count()
    verb = "are sent again" if works else "wait"
    more = " or more" if waiting == COUNTED else ""
    return (
        f"{on:,} webhook{pluralize(on, ' is,s are')} on: deliveries {verb} from now on. Deliveries "
        f"that wait at present: {waiting:,}{more}."
    )


def admins_of(workspace: Workspace) -> str:
    admins = Membership.objects.admins().filter(workspace=workspace).select_related("user")
    logins = ", ".join(sorted(str(each.user) for each in admins))
    if not logins:
        return "It has no admin who can sign in."
    told = ", who get an e-mail unless they have chosen not to" if mails.available() else ""
    return f"Its admins: {logins}{told}."
