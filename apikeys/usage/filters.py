"""The list of refused requests: its search and filters. `apikeys.usage.models` has the indexes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Case, F, Q, Value, When
from django.http import HttpRequest
from django.utils import timezone

from apikeys.usage.models import REQUEST_ID_SHORT, RefusedRequest
from apikeys.usage.purge import KEEP_REFUSED
from apikeys.usage.reasons import explain
from audit.admin.filters import id_field
from audit.admin.links import filtered_log_url
from audit.admin.periods import LogChangeList, LogFilter
from audit.admin.search import MOST_IDS, Recognised, ids_and_addresses
from audit.scope import sees_every_workspace
from config.api.errors import HttpsRequired, WorkspaceSuspended
from config.console import keyset
from config.console.base import request_user
from config.console.changelist import BEFORE, SearchField
from config.runtime.key_format import PREFIX, PUBLIC_LENGTH
from config.runtime.request_context import began_at
from workspaces.directory import own_workspaces

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
# What one of the requests is called where its status has two meanings.
CAUSES = {WorkspaceSuspended.code: "suspended", HttpsRequired.code: "no HTTPS"}
CAN_BE_FOUND = (
    f"a request id or its first {REQUEST_ID_SHORT} characters, the id or URL of a document, the id "
    f"of a key or a workspace, an address, or the first {PUBLIC_LENGTH} characters of a key"
)
GROUPS, ROWS_READ = 50, 500  # of a page
NOT_HERE = "not_here"  # the code of the error
# Not a part of a longer word or of a UUID.
_BEGINNING = re.compile(
    rf"(?<![\w-])[0-9a-f]{{{REQUEST_ID_SHORT},31}}(?![\w-])", re.IGNORECASE | re.ASCII
)


def recognise(text: str) -> list[Recognised]:
    """What a text may be: whole ids and addresses in it, or else beginnings of request ids.

    Args:
        text: without a raw key.

    Raises:
        ValidationError: there is nothing in it that can be searched for.
    """
    if text.startswith(PREFIX) and len(text) == PUBLIC_LENGTH:
        return [Recognised("First characters of a key", text, (Q(key_prefix=text),))]
    beginnings = dict.fromkeys(each.lower() for each in _BEGINNING.findall(text))
    found = ids_and_addresses(text) or [
        Recognised("Beginning of a request id", each, (Q(request_id__startswith=each),))
        for each in list(beginnings)[:MOST_IDS]
    ]
    if not found:
        raise ValidationError(
            f"Enter {CAN_BE_FOUND}. Names, e-mails and other text can only be searched for in the "
            "audit log.",
            code=NOT_HERE,
        )
    return found


def flooded(found: Recognised) -> Recognised:
    """The same; of a request that has no row of its own, also the floods of its minute."""
    made = began_at(found.value) if found.request else None
    if (
        made is None
        or not timedelta() <= timezone.now() - made < KEEP_REFUSED
        or RefusedRequest.objects.filter(request_id=found.value).exists()
    ):
        return found
    minute = made.replace(second=0, microsecond=0)
    within = Q(created_at__gte=minute, created_at__lt=minute + timedelta(minutes=1), more__gt=0)
    what = f"One of the requests counted here, if it was refused at {minute:%H:%M} UTC: request id"
    return replace(found, what=what, conditions=(*found.conditions, within))


@dataclass
class Group:
    """Equal refusals of a key, a workspace or an address, in the same or consecutive minutes.

    Attributes:
        rows: newest first. A flood has more requests than rows.
    """

    rows: list[RefusedRequest]

    @property
    def first(self) -> RefusedRequest:
        return self.rows[-1]

    @property
    def last(self) -> RefusedRequest:
        return self.rows[0]

    @property
    def count(self) -> int:
        return sum(1 + row.more for row in self.rows)

    @property
    def text(self) -> str:
        return CAUSES.get(self.last.cause) or STATUSES.get(self.last.status, "refused")


def folded(rows: Sequence[RefusedRequest]) -> tuple[list[Group], int]:
    """At most `GROUPS` groups of the first rows, and how many rows these are."""
    groups: list[Group] = []
    newest: dict[tuple[Any, ...], Group] = {}
    for number, row in enumerate(rows):
        who = row.key_id or row.key_prefix or row.address
        alike = (who, row.workspace_id, row.status, row.reason)
        minute = row.created_at.replace(second=0, microsecond=0)
        group = newest.get(alike)
        if group and group.first.created_at - minute < timedelta(minutes=2):
            group.rows.append(row)
            continue
        if len(groups) == GROUPS:
            return groups, number
        groups.append(Group([row]))
        newest[alike] = groups[-1]
    return groups, len(rows)


class RefusedFilter(LogFilter):
    """The filters of the list."""

    q = SearchField(CAN_BE_FOUND[:1].upper() + CAN_BE_FOUND[1:])
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
    # Set by links.
    key_id__exact = id_field("API key")
    address__exact = forms.GenericIPAddressField(
        label="Address", required=False, widget=forms.HiddenInput
    )

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        if text:
            self.recognised = [flooded(each) for each in recognise(text)]
        return text

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if not rows or name not in ("workspace_id__exact", "key_id__exact"):
            return super().chip_text(name, rows)
        newest: RefusedRequest = rows[0]
        return newest.workspace_label if name == "workspace_id__exact" else newest.key_name


class RefusedChangeList(LogChangeList):
    """Words the reasons of its rows, and leads to the audit log if nothing was found."""

    for_support: bool
    own: dict[UUID, str]
    names = ("errors", "limited")
    series = Case(When(status=429, then=Value("limited")), default=Value("errors"))
    number = F("more") + 1

    def get_results(self, request: HttpRequest) -> None:
        # Of a flood, many rows are one line.
        self.list_per_page = GROUPS if BEFORE in self.params else ROWS_READ
        super().get_results(request)
        self.for_support = sees_every_workspace(request_user(request))
        self.own = own_workspaces(request)
        explain(self.result_list, for_support=self.for_support)
        self.groups, used = folded(self.result_list)
        if used < len(self.result_list):
            last = self.result_list[used - 1]
            older = keyset.Position(last.created_at, last.pk)
            self.result_list = self.result_list[:used]
            self.page = replace(self.page, rows=self.result_list, older=older)

    @property
    def empty_links(self) -> list[tuple[str, str]]:
        text = self.form.data.get("q", "").strip()
        only_elsewhere = self.form.has_error("q", NOT_HERE)
        if not text or (self.form.errors and not only_elsewhere):
            return []
        return [*super().empty_links, ("Search the audit log", filtered_log_url(q=text))]
