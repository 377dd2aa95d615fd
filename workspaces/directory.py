from uuid import UUID

from django.http import HttpRequest

from audit.scope import sees_every_workspace
from config.console.base import request_user
from workspaces.models import Workspace


def own_workspaces(request: HttpRequest) -> dict[UUID, str]:
    """The workspaces whose admin the user is, sorted by name: id → label. Read once a request."""
    own: dict[UUID, str] | None = getattr(request, "own_workspaces", None)
    if own is None:
        own = Workspace.labels(Workspace.objects.names_for_admin(request_user(request)))
        request.own_workspaces = own  # type: ignore[attr-defined]
    return own


def label_for(request: HttpRequest, workspace: Workspace) -> str:
    """What to call a workspace on pages of the request's user, who may see it."""
    if sees_every_workspace(request_user(request)):
        return workspace.label
    return own_workspaces(request).get(workspace.id, workspace.name)
