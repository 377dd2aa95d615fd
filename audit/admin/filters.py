"""The filters of the audit log; `audit.models` has an index for each."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from audit.admin.periods import LogFilter
from audit.admin.search import recognise
from audit.admin.workspace_filter import name_of
from audit.models import Action, AuditEntry
from audit.scope import Scope
from audit.snapshots import WorkspaceSnapshot
from config.console.changelist import SearchField
from config.request.redaction import PREFIX, PUBLIC_LENGTH

# An export may be of one workspace; a key has one.
_IN_WORKSPACES = {"workspace", "(workspace)", "key"}
ACTIONS_IN_WORKSPACES = [
    (each.value, each.label) for each in Action if _IN_WORKSPACES & set(each.facts.split())
]


def id_field(label: str) -> forms.UUIDField:
    """Set by links."""
    return forms.UUIDField(
        label=label,
        required=False,
        widget=forms.HiddenInput,
        error_messages={"invalid": "This is not an id. An id is a UUID."},
    )


class AuditLogFilter(LogFilter):
    q = SearchField(
        "Anything you have: an id, a URL of the API, a request id or its first 8 characters, the "
        "first 12 characters of a key, an address, a day, or a whole e-mail"
    )
    action__exact = forms.ChoiceField(label="What happened", required=False)
    document_id__exact = id_field("Document")
    key_id__exact = id_field("API key")

    def __init__(self, data: QueryDict, scope: Scope) -> None:
        super().__init__(data, scope)
        actions: Any = self.fields["action__exact"]
        offered = Action.choices if scope.everything else ACTIONS_IN_WORKSPACES
        actions.choices = [("", "Anything"), *offered]

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if text.startswith(PREFIX) and len(text) < PUBLIC_LENGTH:
            raise ValidationError(
                f"To find a key, enter its first {PUBLIC_LENGTH} characters, {PREFIX} included."
            )
        self.recognised = recognise(text) if text else []
        return text

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if not rows or name not in ("document_id__exact", "key_id__exact"):
            return super().chip_text(name, rows)
        newest: AuditEntry = rows[0]
        return newest.document_title if name == "document_id__exact" else newest.key_label

    def text(self) -> str:
        """The filters in words, for the entry of an export: "action = key.revoked".

        The search is left out. It may be a name, which the log could never forget.
        """
        values = self.cleaned_data
        chosen = self._chosen_workspace()
        parts = {
            "workspace =": chosen and chosen.workspace_name,
            "action =": values["action__exact"],
            "document =": values["document_id__exact"],
            "key =": values["key_id__exact"],
            "search by": ", ".join(each.what.lower() for each in self.recognised),
            "from": values["since"] and f"{values['since']} UTC",
            "to": values["until"] and f"{values['until']} UTC",
            "within": values["within"],
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value) or "no filter"

    def only_workspace(self) -> WorkspaceSnapshot | None:
        """The workspace, if no entries of others can be found."""
        if len(self.scope.workspaces) != 1:
            return self._chosen_workspace()
        [(workspace_id, name)] = self.scope.workspaces.items()
        return WorkspaceSnapshot(workspace_id=workspace_id, workspace_name=name)

    def _chosen_workspace(self) -> WorkspaceSnapshot | None:
        workspace_id: UUID | None = self.cleaned_data["workspace_id__exact"]
        if workspace_id is None:
            return None
        name = self.scope.workspaces.get(workspace_id) or name_of(workspace_id)
        return WorkspaceSnapshot(workspace_id=workspace_id, workspace_name=name)
