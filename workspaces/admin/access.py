"""What operators do with a workspace: create, rename, suspend, reinstate it, change its plan."""

from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.urls import reverse

from config.console.object_page import ActionPage, Prompt, Refused
from workspaces import changes, mails
from workspaces.forms import NewWorkspaceForm, ReasonForm, RenameForm
from workspaces.models import Membership, Workspace
from workspaces.permissions import is_operator
from workspaces.plans import WITH_API, Plan, label_of

NO_API = "Its plan has no API: in any case, its keys are refused and its webhooks wait."


class WorkspaceAction(ActionPage):
    obj: Workspace

    def is_allowed(self) -> bool:
        return is_operator(self.user)


class CreateWorkspace(WorkspaceAction):
    form_class = NewWorkspaceForm

    def prompt(self) -> Prompt:
        return Prompt("Create a workspace", "Create the workspace")

    def run(self) -> str:
        self.obj = self.form.save(commit=False)
        others = Workspace.objects.filter(name__iexact=self.obj.name).exists()
        changes.create_workspace(self.obj, by=self.login)
        done = f"{self.obj.label} was created. Invite its first admin now."
        return f"{done} Another workspace has the same name: rename one." if others else done

    @property
    def next_url(self) -> str:
        return reverse("admin:workspaces_workspace_invite", args=[self.obj.pk])


class Rename(WorkspaceAction):
    form_class = RenameForm

    def form_arguments(self) -> dict[str, Any]:
        return {"instance": copy(self.obj)}

    def prompt(self) -> Prompt:
        kept = "What has happened under the present name keeps it in the audit log."
        return Prompt(f"Rename {self.obj}", "Rename it", [kept])

    def run(self) -> str:
        changes.rename(self.obj, self.form.cleaned_data["name"], by=self.login)
        return "It has its new name."


class Suspend(WorkspaceAction):
    form_class = ReasonForm
    template_name = "admin/workspaces/workspace/suspend.html"
    suspends = True
    verb, state = "Suspend", "suspended"
    effect = "Its keys stop with the next request, and its webhooks wait."

    def check(self) -> None:
        if self.obj.suspended == self.suspends:
            raise Refused(f"{self.obj} is {self.state} already.")

    def prompt(self) -> Prompt:
        effect = self.effect if self.obj.plan in WITH_API else NO_API
        title = f"{self.verb} {self.obj}"
        return Prompt(f"{title}?", title, [effect, admins_of(self.obj)], danger=self.suspends)

    def run(self) -> str:
        reason = self.form.cleaned_data["reason"]
        changes.set_suspended(self.obj, self.suspends, by=self.login, reason=reason)
        return "" if self.suspends else f"{self.obj} is active."  # the page says what is suspended


class Reinstate(Suspend):
    suspends = False
    verb, state = "Reinstate", "active"
    effect = "Its keys work again, and its webhooks get what has waited."


class ChangePlan(WorkspaceAction):
    form_class = ReasonForm
    template_name = "admin/workspaces/workspace/plan.html"

    def prompt(self) -> Prompt:
        now = f"It is on {label_of(self.obj.plan)} now."
        suspended = ["It is suspended: its keys are refused on every plan."]
        sentences = [now, *(suspended if self.obj.suspended else []), admins_of(self.obj)]
        return Prompt(f"Move {self.obj} to another plan", "", sentences)

    def context(self) -> dict[str, Any]:
        others = [plan for plan in reversed(Plan) if plan != self.obj.plan]  # with the API first
        return {"plans": [(plan, plan in WITH_API) for plan in others]}

    def run(self) -> str:
        plan, reason = self.request.POST.get("plan", ""), self.form.cleaned_data["reason"]
        if plan not in Plan.values:
            raise ValidationError("Choose a plan.")
        changes.change_plan(self.obj, plan, by=self.login, reason=reason)
        return f"{self.obj} is on {label_of(plan)} now."


def admins_of(workspace: Workspace) -> str:
    admins = Membership.objects.admins().filter(workspace=workspace).select_related("user")
    logins = ", ".join(sorted(str(each.user) for each in admins))
    if not logins:
        return "It has no admin who can sign in."
    told = ", who get an e-mail unless they have chosen not to" if mails.available() else ""
    return f"Its admins: {logins}{told}."
