"""Which audit entries a user may see; checked again for every request."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q
from django.http import HttpRequest

from config.console.base import request_user

# The group Support has it, and superusers have every permission.
READ_ALL = "audit.view_auditentry"


@dataclass(frozen=True)
class Scope:
    """The entries that a user may see.

    Attributes:
        everything: all entries, including those without a workspace (sign-ins).
        workspaces: otherwise, the workspaces whose admin the user is: id → name, sorted by name.
    """

    everything: bool
    workspaces: dict[UUID, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.everything or bool(self.workspaces)

    def includes(self, workspace_id: UUID | None) -> bool:
        return self.everything or workspace_id in self.workspaces

    def condition(self) -> Q:
        return Q() if self.everything else Q(workspace_id__in=list(self.workspaces))

    def alternatives(self) -> list[Q]:
        """The same condition, split by workspace: each part is a range of one index."""
        if self.everything:
            return [Q()]
        return [Q(workspace_id=workspace_id) for workspace_id in self.workspaces]


def sees_every_workspace(user: User | AnonymousUser) -> bool:
    """Whether the user sees what all workspaces have: operators and support staff."""
    return user.is_active and user.is_staff and user.has_perm(READ_ALL)


def scope_of(request: HttpRequest) -> Scope:
    """The scope of the signed-in user, read once per request."""
    scope: Scope | None = getattr(request, "audit_scope", None)
    if scope is None:
        user, workspaces = request_user(request), {}
        everything = sees_every_workspace(user)
        if not everything:
            workspaces = workspace_model().objects.names_for_admin(user)
        scope = request.audit_scope = Scope(everything, workspaces)  # type: ignore[attr-defined]
    return scope


def workspace_model() -> Any:
    """The model of workspaces, whose app is above this one."""
    return apps.get_model("workspaces", "Workspace")
