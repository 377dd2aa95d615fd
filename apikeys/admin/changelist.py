"""The list of keys: its filters and its rows."""

from typing import Any

from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.http import HttpRequest
from django.utils.functional import cached_property

from apikeys.admin.texts import end_of, replaced_by
from apikeys.models import ApiKey
from apikeys.states import UNUSED_DAYS, ApiKeyQuerySet, State
from apikeys.usage import report
from apikeys.usage.panels import sparkline, summary
from audit.admin.search import parsed
from config.console.base import ChoiceFilter
from workspaces.api_access import access_warning
from workspaces.directory import own_workspaces

FEW = 10  # keys that need no filters


class StateFilter(ChoiceFilter):
    """Active, or ended."""

    title = "State"
    parameter_name = "state"
    options = {
        State.ACTIVE: ("Active", ApiKeyQuerySet.active),
        State.EXPIRES_SOON: ("Expires soon", ApiKeyQuerySet.expiring),
        State.EXPIRED: ("Expired", ApiKeyQuerySet.expired),
        State.REVOKED: ("Revoked", lambda keys: keys.filter(revoked_at__isnull=False)),
    }


class UsedFilter(ChoiceFilter):
    """Keys that may have been forgotten."""

    title = "Last used"
    parameter_name = "used"
    options = {"not": (f"Unused for {UNUSED_DAYS} days", ApiKeyQuerySet.unused)}


class WorkspaceFilter(ChoiceFilter):
    """A workspace by its id; one whose keys the user may not see has none."""

    title = "Workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(id), name) for id, name in own_workspaces(request).items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = self.value()
        if not chosen:
            return queryset
        workspace_id = parsed(chosen)
        return queryset.filter(workspace_id=workspace_id) if workspace_id else queryset.none()


class KeyChangeList(ChangeList):
    """Django's change list, with the usage of the keys on its page.

    Attributes:
        workspaces: those of the user: id → what to call it.
    """

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.workspaces = own_workspaces(request)

    @property
    def shows_filters(self) -> bool:
        """Few keys need no filters, unless some are hidden by one."""
        return (self.full_result_count or 0) >= FEW or self.narrowed

    @property
    def has_actions(self) -> bool:
        """Whether there are several keys; one has its own buttons."""
        return len(self.rows) > 1

    @property
    def narrowed(self) -> bool:
        """Whether the URL asks for certain keys."""
        return any(value for name, value in self.params.items() if name != ORDER_VAR)

    @property
    def shows_workspaces(self) -> bool:
        """Whether keys of several workspaces may be among them."""
        return len(self.workspaces) > 1

    @property
    def headers(self) -> list[dict[str, Any]]:
        """The columns after the one of the checkboxes."""
        return [each for each in result_headers(self) if "action-checkbox" not in str(each)]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The keys with what the template cannot find out."""
        keys: list[ApiKey] = list(self.result_list)
        usage = report.daily([key.pk for key in keys])
        return [
            {
                "key": key,
                "workspace": self.workspaces[key.workspace_id],
                "is_refused": not key.state.has_ended and bool(access_warning(key.workspace)),
                "chart": sparkline(usage[key.pk]),
                "numbers": summary(usage[key.pk]),
                "end": end_of(key),
                "replaced_by": replaced_by(key),
            }
            for key in keys
        ]
