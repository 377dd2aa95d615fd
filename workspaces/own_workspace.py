"""A form for something new in one of the user's own workspaces."""

from typing import Any

from django import forms
from django.contrib.auth.models import User

from config.console.object_page import OnceForm
from workspaces.directory import labels
from workspaces.models import Workspace


class OwnWorkspaceForm(OnceForm):
    """Asks for the workspace, if the user is an admin of several."""

    workspace = forms.ModelChoiceField(
        Workspace.objects.none(), empty_label="Choose where it belongs"
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, by=by, **kwargs)
        self.workspaces = list(Workspace.objects.administered_by(by).order_by("name", "id"))
        if len(self.workspaces) == 1:
            del self.fields["workspace"]
        else:
            own = labels({each.id: each.name for each in self.workspaces})
            choices: Any = self.fields["workspace"]
            choices.queryset = Workspace.objects.administered_by(by).order_by("name", "id")
            choices.label_from_instance = lambda workspace: own.get(workspace.id, workspace.name)

    def facts(self) -> dict[str, str]:
        """The workspace, if there is no choice."""
        return {} if "workspace" in self.fields else {"Workspace": self.workspaces[0].name}

    def chosen_workspace(self) -> Workspace:
        """The workspace; the form must be valid."""
        chosen: Workspace = self.cleaned_data.get("workspace") or self.workspaces[0]
        return chosen
