"""The workspace filter: a text field, with suggestions while the user types.

Without JavaScript it works too: a name or an id is looked up when the form is sent.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import TextField
from django.db.models.functions import Cast
from django.urls import reverse_lazy
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin.search import parsed
from audit.models import AuditEntry
from audit.scope import workspace_model

SUGGESTED = 20  # workspaces
MOST = 10  # workspaces that a name may stand for
SEPARATOR = " · "  # in a workspace's label


class WorkspaceInput(forms.TextInput):
    class Media:
        js = (forms.Script("audit/suggestions.js", defer=True),)

    def __init__(self) -> None:
        url = reverse_lazy("admin:audit_auditentry_workspaces")
        super().__init__(
            {"placeholder": "Name or id", "autocomplete": "off", "data-suggestions": url}
        )

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        suggestions = f"id_{name}_suggestions"
        field = super().render(name, value, {**(attrs or {}), "list": suggestions}, renderer)
        return format_html('{}<datalist id="{}"></datalist>', field, suggestions)

    def format_value(self, value: Any) -> str | None:
        if not value:
            return None
        id = parsed(str(value))
        if id is None:
            return str(value)
        name = name_of(id)
        return name if name == str(id) else str(workspace_model()(id=id, name=name).label)


class WorkspaceField(forms.CharField):
    """A workspace's name, its label in lists (`Acme · 0fe2b1c4`) or its id; the value is its id."""

    def __init__(self) -> None:
        super().__init__(label="Workspace", required=False, max_length=250, widget=WorkspaceInput())

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        if id := parsed(text):  # also of one that was deleted
            return id
        workspaces = workspace_model().objects.order_by("name", "id")
        name, separator, digits = text.rpartition(SEPARATOR)
        if separator:
            same = workspaces.filter(name__iexact=name).annotate(text=Cast("id", TextField()))
            found = list(same.filter(text__startswith=digits)[:MOST])
        else:
            exact = list(workspaces.filter(name__iexact=text)[:MOST])
            found = exact or list(workspaces.filter(name__icontains=text)[:MOST])
        if not found:
            raise ValidationError("No workspace has this name, or this id.")
        if len(found) > 1:
            labels = ", ".join(workspace.label for workspace in found)
            raise ValidationError(f"Several workspaces match. Enter one of: {labels}.")
        return found[0].id


def suggestions(term: str) -> list[str]:
    """The labels of the first few workspaces whose name contains the term, sorted by name.

    The scan of 100,000 workspaces takes about 30 ms, so there is no index.
    """
    containing = workspace_model().objects.filter(name__icontains=term.replace("\0", ""))
    return [workspace.label for workspace in containing.order_by("name", "id")[:SUGGESTED]]


def name_of(workspace_id: UUID) -> str:
    """The workspace's name in its newest entry, even if it was deleted; its id without one."""
    entries = AuditEntry.objects.filter(workspace_id=workspace_id)
    newest = entries.order_by("-created_at", "-id").values_list("workspace_name", flat=True)
    return newest.first() or str(workspace_id)


def own_workspace_field(names: Mapping[UUID, str]) -> forms.TypedChoiceField:
    """The same filter for an admin, who chooses among the own workspaces; of one, links set it."""
    return forms.TypedChoiceField(
        label="Workspace",
        required=False,
        coerce=UUID,
        empty_value=None,
        choices=[("", "All of yours"), *((str(id), name) for id, name in names.items())],
        widget=forms.HiddenInput if len(names) == 1 else forms.Select,
        error_messages={"invalid_choice": "This is not a workspace of yours."},
    )
