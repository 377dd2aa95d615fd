from typing import Any

from django.contrib.auth.models import User

from config.console.object_page import ActionPage, Prompt
from workspaces.accounts import rights
from workspaces.forms import StaffForm

NAMES = {"operator": "an operator", "support": "support staff"}
TEXTS = {
    "operator": "An operator sees every workspace, its members, documents, webhooks and audit log, "
    "and how many keys it has, but not the keys; suspends workspaces and changes plans; and makes, "
    "changes and deactivates accounts, operators' too. Nobody can do more here.",
    "support": "Support staff see every workspace, its members, documents, webhooks, audit log and "
    "refused requests, and how many keys it has, but not the keys. They change nothing.",
}


class MakeOperator(ActionPage):
    form_class = StaffForm
    obj: User
    right, given = "operator", True

    def form_arguments(self) -> dict[str, Any]:
        return {"login": self.obj.get_username()}

    def prompt(self) -> Prompt:
        name = NAMES[self.right]
        title, text = f"Make {self.obj} {name}", TEXTS[self.right]
        if not self.given:
            title, text = f"End the rights of {self.obj} as {name}", "The account stays."
        sentences = [text, "It takes effect with the user's next click."]
        return Prompt(f"{title}?", title, sentences, danger=True)

    def check(self) -> None:
        rights.check(self.obj, self.right, self.given)

    def run(self) -> str:
        reason = self.form.cleaned_data["reason"]
        rights.change(self.obj, self.right, self.given, by=self.login, reason=reason)
        return f"{self.obj}: {rights.kinds_of(self.obj)}."


class MakeSupport(MakeOperator):
    right = "support"


class EndOperator(MakeOperator):
    given = False


class EndSupport(MakeOperator):
    right, given = "support", False
