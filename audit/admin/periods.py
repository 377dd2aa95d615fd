"""The logs' filters by time, and their periods to choose from."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from audit.admin.search import Recognised, in_words
from audit.admin.times import SpanField
from audit.admin.workspace_filter import WorkspaceField, own_workspace_field
from audit.scope import Scope, workspace_model
from config.console.changelist import AFTER, FilterForm, KeysetChangeList
from config.console.formatting import time_tag

PERIODS = {
    "1h": ("Last hour", timedelta(hours=1)),
    "24h": ("Last 24 hours", timedelta(hours=24)),
    "7d": ("Last 7 days", timedelta(days=7)),
}


class LogFilter(FilterForm):
    """A search, and filters by time and by exact values; all that are set apply together.

    Workspaces outside of the user's scope are neither offered nor named.
    """

    workspace_id__exact: forms.Field = WorkspaceField()

    since = SpanField("From", "first")
    until = SpanField("To", "last")
    within = forms.ChoiceField(
        label="Time",
        required=False,
        choices=[(name, text) for name, (text, _) in PERIODS.items()],
        widget=forms.HiddenInput,
    )
    field_order = ("q", "workspace_id__exact", "action__exact", "status__exact")

    def __init__(self, data: QueryDict, scope: Scope) -> None:
        super().__init__(data)
        self.scope = scope
        self.recognised: list[Recognised] = []
        if not scope.everything:
            own = workspace_model().labels(scope.workspaces)
            self.fields["workspace_id__exact"] = own_workspace_field(own)

    def clean(self) -> dict[str, Any]:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and since.first > until.last:
            raise ValidationError("“From” is after “To”.")
        return self.cleaned_data

    def condition(self) -> Q:
        values = self.cleaned_data
        exact = {name: value for name, value in values.items() if name.endswith("__exact")}
        found = Q(**{name: value for name, value in exact.items() if value})
        if values["since"]:
            found &= Q(created_at__gte=values["since"].first)
        if values["until"]:
            found &= Q(created_at__lte=values["until"].last)
        if values["within"]:
            _, length = PERIODS[values["within"]]
            found &= Q(created_at__gte=timezone.now() - length)
        return found

    def alternatives(self) -> list[Q]:
        values = self.cleaned_data
        workspaces = [Q()] if values["workspace_id__exact"] else self.scope.alternatives()
        searches = [condition for each in self.recognised for condition in each.conditions]
        if not values["q"]:
            searches = [Q()]
        return [place & condition for condition in searches for place in workspaces]

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if name == "within":
            return PERIODS[self.data[name]][0] if self.data[name] in PERIODS else ""
        span = self.cleaned_data.get(name) if name in ("since", "until") else None
        return time_tag(span.first if name == "since" else span.last) if span else ""


class LogChangeList(KeysetChangeList):
    """A list with periods, and a search that says what it has recognised."""

    form: Any  # a LogFilter

    @property
    def recognised(self) -> list[Recognised]:
        """What has found the rows."""
        return [each for each in self.form.recognised if each.conditions]

    @property
    def recognised_text(self) -> str:
        """What the search was recognised as, above the rows that it has found."""
        return in_words(self.recognised) if self.result_list else ""

    @property
    def empty_text(self) -> str:
        if AFTER in self.params or not self.form.recognised:
            return super().empty_text
        return f"Nothing matches. Looked for: {in_words(self.form.recognised)}."

    @property
    def empty_links(self) -> list[tuple[str, str]]:
        """What to do about an empty list: texts and URLs."""
        others = [name for name in self.form.fields if name != "q"]
        if self.form.errors or not (self.form.recognised and any(map(self.form.data.get, others))):
            return []
        return [("Search without the other filters", self.address(**dict.fromkeys(others)))]

    @property
    def periods(self) -> list[dict[str, Any]]:
        chosen = self.form.data.get("within")
        return [
            {
                "text": text,
                "url": self.address(within=name, since=None, until=None),
                "current": name == chosen,
            }
            for name, (text, _) in PERIODS.items()
        ]
