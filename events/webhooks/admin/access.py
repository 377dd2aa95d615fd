"""Who sees which webhooks, and who changes them."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest

from config.console.base import request_user
from config.console.changelist import ReadOnlyAdmin
from events.webhooks.models import Endpoint
from workspaces.directory import own_workspaces
from workspaces.permissions import sees_every_workspace


class WebhookAccess(ReadOnlyAdmin):
    """Only admins of its workspace change a webhook; support staff and operators see it.

    All access goes through `get_queryset`, so that for anybody else it does not exist.

    Attributes:
        workspace_lookup: from a row to its workspace.
    """

    workspace_lookup = "workspace"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if not sees_every_workspace(request_user(request)):
            rows = rows.filter(**{f"{self.workspace_lookup}__in": list(own_workspaces(request))})
        return rows.select_related(self.workspace_lookup)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_every_workspace(request_user(request)) or bool(own_workspaces(request))

    def history_url(self, obj: Model) -> str:
        raise Http404  # entries have no id of a webhook


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and endpoint.workspace_id in own_workspaces(request)
