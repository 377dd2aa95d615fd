"""The filters of the refused requests; `apikeys.usage.models` has an index for each."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from apikeys.usage.models import RefusedRequest
from apikeys.usage.search import CAN_BE_FOUND, recognise
from audit.filters import PERIODS, id_field
from audit.scope import Scope
from audit.search import Recognised
from audit.workspace_field import WorkspaceField, own_workspace_field
from config.admin.changelist import FilterForm
from workspaces.directory import labels

STATUSES = {
    400: "not valid",
    401: "no valid key",
    402: "plan",
    403: "suspended, or no HTTPS",
    404: "not found",
    405: "method",
    412: "another version",
    416: "no such bytes",
    429: "over the limit",
    500: "our error",
    503: "not available",
}


class RefusedFilter(FilterForm):
    """The filters of the list; all that are set apply together.

    Args:
        scope: the scope of the user; workspaces outside of it are not offered.

    Attributes:
        recognised: what the search may be.
    """

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text=CAN_BE_FOUND[:1].upper() + CAN_BE_FOUND[1:],
    )
    status__exact = forms.TypedChoiceField(
        label="Status",
        required=False,
        coerce=int,
        empty_value=None,
        choices=[
            ("", "Any"),
            *((status, f"{status} · {text}") for status, text in STATUSES.items()),
        ],
    )
    within = forms.ChoiceField(
        label="Time",
        required=False,
        choices=[("", "30 days"), *((name, label) for name, (label, _) in PERIODS.items())],
    )
    workspace_id__exact: forms.Field = WorkspaceField()
    # Set by links.
    key_id__exact = id_field("API key")
    address__exact = forms.GenericIPAddressField(
        label="Address", required=False, widget=forms.HiddenInput
    )

    def __init__(self, data: QueryDict, scope: Scope) -> None:
        super().__init__(data)
        self.scope = scope
        self.recognised: list[Recognised] = []
        if not scope.everything:
            self.fields["workspace_id__exact"] = own_workspace_field(labels(scope.workspaces))

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if text:
            self.recognised = recognise(text)
        return text

    def condition(self) -> Q:
        values = self.cleaned_data
        exact = ("status__exact", "workspace_id__exact", "key_id__exact", "address__exact")
        found = Q(**{name: values[name] for name in exact if values[name]})
        if values["within"]:
            _, length = PERIODS[values["within"]]
            found &= Q(created_at__gte=timezone.now() - length)
        return found

    def alternatives(self) -> list[Q]:
        values = self.cleaned_data
        searches = [Q()]
        if values["q"]:
            searches = [condition for each in self.recognised for condition in each.conditions]
        workspaces = [Q()] if values["workspace_id__exact"] else self.scope.alternatives()
        return [workspace & search for workspace in workspaces for search in searches]

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if not rows or name == "address__exact":
            return ""
        newest: RefusedRequest = rows[0]
        return newest.workspace_label if name == "workspace_id__exact" else newest.key_name
