"""The list of refused requests: its search and filters. `apikeys.usage.models` has the indexes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Case, F, Q, Value, When
from django.http import HttpRequest

from apikeys.usage.models import RefusedRequest
from apikeys.usage.report import ROWS_READ, folded
from audit.admin.filters import id_field
from audit.admin.periods import LogChangeList, LogFilter
from audit.admin.search import Recognised, recognise
from audit.scope import sees_every_workspace
from config.console.base import request_user
from config.console.changelist import SearchField, any_of
from config.runtime.request_context import began_at
from workspaces.directory import own_workspaces

STATUSES = (400, 401, 402, 403, 404, 405, 410, 412, 416, 429, 500, 503)
CAN_BE_FOUND = (
    "A request id or its first 8 characters, the id or URL of a document, the id of a key or a "
    "workspace, or the first 12 characters of a key"
)


def counted(found: Recognised) -> Recognised:
    """The same; of a request that has no row of its own, also the rows that may count it."""
    made = began_at(found.value) if found.request else None
    if made is None or RefusedRequest.objects.filter(request_id=found.value).exists():
        return found
    minute = made.replace(second=0, microsecond=0)
    within = Q(created_at__gte=minute, created_at__lt=minute + timedelta(minutes=1), more__gt=0)
    what = f"One of the requests counted here, if it was refused at {minute:%H:%M} UTC: request id"
    return replace(found, what=what, conditions=(*found.conditions, within))


class RefusedFilter(LogFilter):
    """The filters of the list."""

    q = SearchField(CAN_BE_FOUND)
    status__exact = any_of("Status", [(str(status), status) for status in STATUSES])
    key_id__exact = id_field("API key")  # set by links

    def clean_q(self) -> str:
        text: str = self.cleaned_data["q"]
        found = recognise(text) if text else []
        self.recognised = [counted(each) for each in found if each.what not in ("Address", "Login")]
        if text and not self.recognised:
            raise ValidationError(f"This cannot be searched for. {CAN_BE_FOUND} can.")
        return text

    def chip_text(self, name: str, rows: Sequence[Any]) -> str:
        if rows and name == "workspace_id__exact":
            return str(rows[0].workspace_label)
        return (
            rows[0].key_name if rows and name == "key_id__exact" else super().chip_text(name, rows)
        )


class RefusedChangeList(LogChangeList):
    """Folds its rows: of a flood, many are one line."""

    names = ("errors", "limited")
    series = Case(When(status=429, then=Value("limited")), default=Value("errors"))
    number = F("more") + 1

    def get_results(self, request: HttpRequest) -> None:
        self.list_per_page = ROWS_READ
        super().get_results(request)
        self.for_support = sees_every_workspace(request_user(request))
        self.own = own_workspaces(request)
        self.groups = folded(self.result_list, for_support=self.for_support)
