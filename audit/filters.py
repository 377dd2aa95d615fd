"""The filters of the audit log; `audit.models` has an index for each."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import QueryDict

from audit.models import Action, AuditEntry
from audit.record import WorkspaceSnapshot
from audit.scope import Scope
from audit.widgets import WorkspaceSelect, name_of_workspace
from config.admin.changelist import FilterForm
from config.key_format import PREFIX, PUBLIC_LENGTH

_KEY = re.compile(rf"{PREFIX}[A-Za-z0-9]*")
_REQUEST_ID = re.compile(r"[0-9A-Fa-f]{32}")


def without_raw_key(text: str) -> str:
    """The text; or only the prefix of a key, if the text contains one."""
    key = _KEY.search(text)
    return key[0][:PUBLIC_LENGTH] if key else text


def search_alternatives(text: str) -> list[Q]:
    """A condition for each column that could contain exactly this text.

    Names and e-mail addresses match in any case. Parts of them do not match, since no index
    supports that in the order of the list.
    """
    if text.startswith(PREFIX):
        return [Q(key_prefix=text)]
    alternatives = [
        Q(key_name__iexact=text),
        # As in the partial indexes.
        Q(person__iexact=text) & ~Q(person=""),
        Q(member__iexact=text) & ~Q(member=""),
    ]
    if _REQUEST_ID.fullmatch(text):
        alternatives.append(Q(request_id=text.lower()))
    try:
        found = UUID(text)
    except ValueError:
        return alternatives
    return [*alternatives, Q(document_id=found), Q(key_id=found), Q(workspace_id=found)]


def id_field(label: str, widget: type[forms.Widget]) -> forms.UUIDField:
    return forms.UUIDField(
        label=label,
        required=False,
        widget=widget,
        error_messages={"invalid": "This is not an id. An id is a UUID."},
    )


def day_field(label: str) -> forms.DateField:
    """A day in UTC, like all times of the audit log."""
    return forms.DateField(
        label=label,
        required=False,
        widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": "This is not a day. Write one as 2026-03-01."},
    )


class AuditLogFilter(FilterForm):
    """The filters of the audit log; all that are set apply together.

    Args:
        scope: the scope of the user; workspaces outside of it are neither offered nor named.
    """

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=254,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text="Whole values only: a document id, the first 12 characters of a key, a key’s "
        "name, an e-mail address or a request id",
    )
    workspace_id__exact = id_field("Workspace", WorkspaceSelect)
    action__exact = forms.ChoiceField(
        label="What happened", required=False, choices=[("", "Anything"), *Action.choices]
    )
    since = day_field("From")
    until = day_field("To")
    # Set by links.
    document_id__exact = id_field("Document", forms.HiddenInput)
    key_id__exact = id_field("API key", forms.HiddenInput)

    def __init__(self, data: QueryDict, scope: Scope) -> None:
        super().__init__(data)
        self.scope = scope
        if not scope.everything:
            names = {str(workspace_id): name for workspace_id, name in scope.workspaces.items()}
            self.fields["workspace_id__exact"] = forms.TypedChoiceField(
                label="Workspace",
                required=False,
                coerce=UUID,
                empty_value=None,
                choices=[("", "All of yours"), *names.items()],
                widget=forms.HiddenInput if len(names) == 1 else forms.Select,
                error_messages={"invalid_choice": "This is not a workspace of yours."},
            )

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if text.startswith(PREFIX) and len(text) < PUBLIC_LENGTH:
            raise ValidationError(
                f"To find a key, enter its first {PUBLIC_LENGTH} characters, {PREFIX} included."
            )
        return text

    def clean(self) -> dict[str, Any]:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and since > until:
            raise ValidationError("“From” is after “To”.")
        return self.cleaned_data

    def condition(self) -> Q:
        values = self.cleaned_data
        exact = ("workspace_id__exact", "action__exact", "document_id__exact", "key_id__exact")
        found = Q(**{name: values[name] for name in exact if values[name]})
        if values["since"]:
            found &= Q(created_at__gte=datetime.combine(values["since"], time.min, UTC))
        if values["until"]:
            found &= Q(created_at__lte=datetime.combine(values["until"], time.max, UTC))
        return found

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if not rows or name == "workspace_id__exact":
            return ""
        newest: AuditEntry = rows[0]
        return newest.document_title if name == "document_id__exact" else newest.key_label

    def text(self) -> str:
        """The filters in words, for the entry of an export: "action = key.revoked"."""
        values = self.cleaned_data
        chosen = self._chosen_workspace()
        parts = {
            "workspace =": chosen and chosen.workspace_name,
            "action =": values["action__exact"],
            "document =": values["document_id__exact"],
            "key =": values["key_id__exact"],
            "search =": values["q"],
            "from": values["since"],
            "to": values["until"],
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
        name = self.scope.workspaces.get(workspace_id) or name_of_workspace(str(workspace_id))
        return WorkspaceSnapshot(workspace_id=workspace_id, workspace_name=name)

    def alternatives(self) -> list[Q]:
        values = self.cleaned_data
        searches = search_alternatives(values["q"]) if values["q"] else [Q()]
        workspaces = [Q()] if values["workspace_id__exact"] else self.scope.alternatives()
        return [workspace & search for workspace in workspaces for search in searches]
