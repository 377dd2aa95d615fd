"""Who sees which keys, and who creates and ends them."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from apikeys.models import ApiKey
from config.console.base import SectionAdmin, request_user
from config.console.object_page import ActionPage
from workspaces.directory import own_workspaces
from workspaces.models import Workspace
from workspaces.permissions import sees_every_workspace


class KeyAccess(SectionAdmin):
    """Only an admin of a key's workspace changes the key; support staff and operators see it.

    All access goes through `get_queryset`, so that for anybody else the key does not exist.
    """

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        user = request_user(request)
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        if not sees_every_workspace(user):
            keys = keys.filter(workspace__in=Workspace.objects.administered_by(user))
        return keys.select_related("workspace", "created_by", "revoked_by", "replaced_by")

    def has_view_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        everything = sees_every_workspace(request_user(request))
        return everything or self.has_delete_permission(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(own_workspaces(request))

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        own = own_workspaces(request)
        return bool(own) if obj is None else obj.workspace_id in own


class KeyAction(ActionPage):
    """For admins of the key's workspace."""

    obj: ApiKey | None

    def is_allowed(self) -> bool:
        return bool(self.section.has_delete_permission(self.request, self.obj))
