"""The filters of the refused requests; `apikeys.usage.models` has an index for each."""

import contextlib
import re
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone

from apikeys.usage.models import REQUEST_ID_SHORT, RefusedRequest
from audit.scope import Scope
from config.admin.changelist import FilterForm
from config.key_format import PREFIX, PUBLIC_LENGTH

PERIODS = {
    "hour": ("Last hour", timedelta(hours=1)),
    "day": ("Last 24 hours", timedelta(hours=24)),
    "week": ("Last 7 days", timedelta(days=7)),
}
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
_REQUEST_ID = re.compile(rf"[0-9a-f]{{{REQUEST_ID_SHORT},32}}", re.IGNORECASE)


def search_alternatives(text: str) -> list[Q]:
    """A condition for each column that could contain what was entered.

    Raises:
        ValidationError: the text is nothing that can be searched for.
    """
    text = text.strip(" \t\r\n\"'“”,;.")
    if text.startswith(PREFIX) and len(text) == PUBLIC_LENGTH:
        return [Q(key_prefix=text)]
    alternatives = []
    if _REQUEST_ID.fullmatch(text.rstrip("…")):
        alternatives.append(Q(request_id__startswith=text.rstrip("…").lower()))
    with contextlib.suppress(ValueError):
        id = UUID(text)
        alternatives += [Q(key_id=id), Q(workspace_id=id)]
    with contextlib.suppress(ValueError):
        alternatives.append(Q(address=str(ip_address(text))))
    if not alternatives:
        raise ValidationError(
            f"Enter a request id or its first {REQUEST_ID_SHORT} characters, an address, the first "
            f"{PUBLIC_LENGTH} characters of a key, or the id of a key or a workspace."
        )
    return alternatives


def id_filter(label: str) -> forms.UUIDField:
    """A filter that links set."""
    return forms.UUIDField(
        label=label,
        required=False,
        widget=forms.HiddenInput,
        error_messages={"invalid": "This is not an id. An id is a UUID."},
    )


class RefusedFilter(FilterForm):
    """The filters of the list; all that are set apply together.

    Args:
        scope: the scope of the user; a workspace outside of it matches nothing.
    """

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
        help_text=f"A request id or its first {REQUEST_ID_SHORT} characters, an address, the first "
        f"{PUBLIC_LENGTH} characters of a key, or the id of a key or a workspace",
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
    period = forms.ChoiceField(
        label="Time",
        required=False,
        choices=[("", "30 days"), *((name, label) for name, (label, _) in PERIODS.items())],
    )
    # Set by links.
    workspace_id__exact = id_filter("Workspace")
    key_id__exact = id_filter("API key")
    address__exact = forms.GenericIPAddressField(
        label="Address", required=False, widget=forms.HiddenInput
    )

    def __init__(self, data: QueryDict, scope: Scope) -> None:
        super().__init__(data)
        self.scope = scope
        if len(scope.workspaces) > 1:
            names = {str(id): name for id, name in scope.workspaces.items()}
            self.fields["workspace_id__exact"] = forms.TypedChoiceField(
                label="Workspace",
                required=False,
                coerce=UUID,
                empty_value=None,
                choices=[("", "All of yours"), *names.items()],
                error_messages={"invalid_choice": "This is not a workspace of yours."},
            )

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if text:
            search_alternatives(text)
        return text

    def condition(self) -> Q:
        values = self.cleaned_data
        exact = ("status__exact", "workspace_id__exact", "key_id__exact", "address__exact")
        found = Q(**{name: values[name] for name in exact if values[name]})
        if values["period"]:
            _, length = PERIODS[values["period"]]
            found &= Q(created_at__gte=timezone.now() - length)
        return found

    def alternatives(self) -> list[Q]:
        values = self.cleaned_data
        searches = search_alternatives(values["q"]) if values["q"] else [Q()]
        chosen = values["workspace_id__exact"] and self.scope.includes(
            values["workspace_id__exact"]
        )
        workspaces = [Q()] if chosen else self.scope.alternatives()
        return [workspace & search for workspace in workspaces for search in searches]

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if not rows or name == "address__exact":
            return ""
        newest: RefusedRequest = rows[0]
        return newest.workspace_name if name == "workspace_id__exact" else newest.key_name
