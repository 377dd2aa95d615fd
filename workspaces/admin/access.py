"""What operators do with a workspace: create, rename, suspend, reinstate it, change its plan."""

from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import reverse

from config.console.object_page import ActionPage, Prompt, Refused
from workspaces import changes, mails
from workspaces.api_access import access_warning
from workspaces.forms import NewWorkspaceForm, ReasonForm, RenameForm
from workspaces.models import Membership, Workspace
from workspaces.permissions import is_operator
from workspaces.plans import Plan, label_of

# Whether the keys work before a change and after it → what the change means.
CONSEQUENCES = {
    (True, True): "Any keys that it has keep working.",
    (True, False): "Any keys that it has stop with the next request, and its webhooks wait.",
    (False, True): "Any keys that it has work again with the next request, and its webhooks get "
    "what has waited.",
    (False, False): "No key of it works now, and none will work afterwards either.",
}


class WorkspaceAction(ActionPage):
    obj: Workspace

    def is_allowed(self) -> bool:
        return is_operator(self.user)


class CreateWorkspace(WorkspaceAction):
    form_class = NewWorkspaceForm

    def prompt(self) -> Prompt:
        return Prompt("Create a workspace", "Create the workspace")

    def run(self) -> str | HttpResponse:
        name = self.form.cleaned_data["name"]
        others = [each.label for each in changes.with_the_same_name(name)]
        if others and not self.is_confirmed():
            sentences = ["There is one with that name already:", *others]
            prompt = Prompt(f"Create another “{name}”?", "Create another one", sentences)
            return self.ask(prompt, confirming=True)
        self.obj = self.form.save(commit=False)
        changes.create_workspace(self.obj, by=self.login)
        return f"{self.obj.label} was created. Invite its first admin now."

    @property
    def next_url(self) -> str:
        return reverse("admin:workspaces_workspace_invite", args=[self.obj.pk])


class Rename(WorkspaceAction):
    form_class = RenameForm

    def form_arguments(self) -> dict[str, Any]:
        return {"instance": copy(self.obj)}

    def prompt(self) -> Prompt:
        kept = "What has happened under the present name keeps it in the audit log."
        return Prompt(f"Rename {self.obj.label}", "Rename it", [kept])

    def run(self) -> str:
        changes.rename(self.obj, self.form.cleaned_data["name"], by=self.login)
        return "It has its new name."


class Suspend(WorkspaceAction):
    form_class = ReasonForm
    suspends = True
    verb, state = "Suspend", "suspended"

    def check(self) -> None:
        if self.obj.suspended == self.suspends:
            raise Refused(f"{self.obj} is {self.state} already.")

    def prompt(self) -> Prompt:
        effect = consequence(self.obj, suspended=self.suspends)
        return Prompt(
            title=f"{self.verb} {self.obj.label}?",
            button=f"{self.verb} {self.obj}",
            sentences=[effect, admins_of(self.obj)],
            danger=self.suspends,
        )

    def run(self) -> str:
        reason = self.form.cleaned_data["reason"]
        changes.set_suspended(self.obj, self.suspends, by=self.login, reason=reason)
        return f"{self.obj.label} is {self.state}."


class Reinstate(Suspend):
    suspends = False
    verb, state = "Reinstate", "active"


class ChangePlan(WorkspaceAction):
    form_class = ReasonForm
    template_name = "admin/workspaces/workspace/plan.html"

    def prompt(self) -> Prompt:
        now = f"It is on {label_of(self.obj.plan)} now."
        return Prompt(f"Move {self.obj.label} to another plan", "", [now])

    def context(self) -> dict[str, Any]:
        others = [plan for plan in Plan if plan != self.obj.plan]
        return {"plans": [(plan, consequence(self.obj, plan=plan)) for plan in others]}

    def run(self) -> str:
        plan, reason = self.request.POST.get("plan", ""), self.form.cleaned_data["reason"]
        if plan not in Plan.values:
            raise ValidationError("Choose a plan.")
        changes.change_plan(self.obj, plan, by=self.login, reason=reason)
        return f"{self.obj.label} is on {label_of(plan)} now."


def consequence(workspace: Workspace, **changed: Any) -> str:
    after = copy(workspace)
    for name, value in changed.items():
        setattr(after, name, value)
    return CONSEQUENCES[not access_warning(workspace), not access_warning(after)]


def admins_of(workspace: Workspace) -> str:
    admins = Membership.objects.admins().filter(workspace=workspace).select_related("user")
    logins = ", ".join(sorted(str(each.user) for each in admins))
    if not logins:
        return "It has no admin who can sign in."
    told = ", who get an e-mail unless they have chosen not to" if mails.available() else ""
    return f"Its admins: {logins}{told}."
