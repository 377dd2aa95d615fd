from typing import Any

from django.contrib.auth.models import User

from config.console.object_page import ActionPage, Prompt, Refused
from workspaces.accounts import rights
from workspaces.forms import StaffForm


class MakeOperator(ActionPage):
    """Only somebody with a second factor gets the right (`rights.change` checks it)."""

    form_class = StaffForm
    obj: User
    right, given = "operator", True

    def prompt(self) -> Prompt:
        title = f"Make {self.obj} an operator"
        text = (
            "An operator sees every workspace, its members, documents, webhooks and audit log, but "
            "not its keys; suspends workspaces and changes plans; and makes, changes and "
            "deactivates accounts, operators' too. Nobody can do more here. It takes effect with "
            "the user's next click."
        )
        return Prompt(f"{title}?", title, [text], danger=True)

    def check(self) -> None:
        if rights.has(self.obj, self.right):
            raise Refused(f"{self.obj} is that already.")
        if not rights.may_get_one(self.obj):
            raise Refused(
                f"{self.obj} has no second factor, or cannot sign in. First the user sets one up "
                "on the page Security; nobody gets this right here without one."
            )

    def form_arguments(self) -> dict[str, Any]:
        return {"login": self.obj.get_username()}

    def run(self) -> str:
        reason = self.form.cleaned_data["reason"]
        try:
            rights.change(self.obj, self.right, self.given, by=self.login, reason=reason)
        except rights.LastOperator:
            raise Refused(f"{self.obj} is the only operator who can sign in.") from None
        return f"{self.obj}: {rights.kinds_of(self.obj)}."


class MakeSupport(MakeOperator):
    right = "support"

    def prompt(self) -> Prompt:
        title = f"Make {self.obj} support staff"
        text = (
            "Support staff read the audit log, the refused requests and the documents of every "
            "workspace, not its keys. They change nothing. It takes effect with the user's next "
            "click."
        )
        return Prompt(f"{title}?", title, [text], danger=True)


class EndOperator(MakeOperator):
    given = False
    kind = "an operator"

    def prompt(self) -> Prompt:
        text = "It ends with the next click of the user. Memberships and the account stay."
        title = f"End the rights of {self.obj} as {self.kind}?"
        return Prompt(title, "End the rights", [text], danger=True)

    def check(self) -> None:
        if not rights.has(self.obj, self.right):
            raise Refused(f"{self.obj} is not that any more.")


class EndSupport(EndOperator):
    right, kind = "support", "support staff"
