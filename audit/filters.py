"""What the history is narrowed by; each filter and search has its index in `audit.models`."""

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
from audit.scope import Scope
from audit.widgets import DayInput, WorkspaceSelect
from config.admin.changelist import FilterForm

KEY_PREFIX_LENGTH = 12  # characters that an entry keeps of a key, `dtd_` included

_KEY = re.compile(r"dtd_[A-Za-z0-9]*")
_REQUEST_ID = re.compile(r"[0-9A-Fa-f]{32}")


def without_raw_key(text: str) -> str:
    """What to search for instead of a text that holds a key: its first characters alone."""
    key = _KEY.search(text)
    return key[0][:KEY_PREFIX_LENGTH] if key else text


def search_alternatives(text: str) -> list[Q]:
    """The searches for a text, in each place where it could stand; always the whole of it.

    Names and e-mail addresses are found in any case. A part of one is not searched for: no index
    finds it among millions in their order.
    """
    if text.startswith("dtd_"):
        return [Q(key_prefix=text)]
    ways = [
        Q(key_name__iexact=text),
        # As the indexes have it: without the entries that name nobody.
        Q(person__iexact=text) & ~Q(person=""),
        Q(member__iexact=text) & ~Q(member=""),
    ]
    if _REQUEST_ID.fullmatch(text):
        ways.append(Q(request_id=text.lower()))
    try:
        found = UUID(text)
    except ValueError:
        return ways
    return [*ways, Q(document_id=found), Q(key_id=found), Q(workspace_id=found)]


def id_field(label: str, widget: type[forms.Widget]) -> forms.UUIDField:
    return forms.UUIDField(
        label=label,
        required=False,
        widget=widget,
        error_messages={"invalid": "This is not an id. One has 36 characters."},
    )


def day_field(label: str) -> forms.DateField:
    """A day in UTC, as all times of the history are."""
    return forms.DateField(
        label=label,
        required=False,
        widget=DayInput,
        error_messages={"invalid": "This is not a day. Write one as 2026-03-01."},
    )


class AuditLogFilter(FilterForm):
    """The filters of the audit history; all that are set apply together.

    Args:
        scope: of the person who asks; workspaces outside of it are neither offered nor named.
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
    # Set by links: a document's trail, a key's entries.
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
        if text.startswith("dtd_") and len(text) < KEY_PREFIX_LENGTH:
            raise ValidationError("A key is found by its first 12 characters, dtd_ included.")
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
        return newest.document_title if name == "document_id__exact" else newest.key_label()

    def ways(self) -> list[Q]:
        values = self.cleaned_data
        searches = search_alternatives(values["q"]) if values["q"] else [Q()]
        workspaces = [Q()] if values["workspace_id__exact"] else self.scope.ways()
        return [workspace & search for workspace in workspaces for search in searches]
