"""Whose history a person sees, asked anew by every request."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest

from config.admin.base import person

# Given to the group Support, and to superusers by Django.
READ_ALL = "audit.view_auditentry"


@dataclass(frozen=True)
class Scope:
    """The part of the history that a person sees.

    Attributes:
        everything: entries of every workspace, and those of none.
        workspaces: else the workspaces of which the person is an admin, by name; id → name.
    """

    everything: bool
    workspaces: dict[UUID, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.everything or bool(self.workspaces)

    def includes(self, workspace_id: UUID | None) -> bool:
        """Whether entries of this workspace are seen."""
        return self.everything or workspace_id in self.workspaces

    def condition(self) -> Q:
        """What an entry in the scope meets."""
        return Q() if self.everything else Q(workspace_id__in=list(self.workspaces))

    def ways(self) -> list[Q]:
        """The same as one condition for each workspace, each with its own part of the index."""
        if self.everything:
            return [Q()]
        return [Q(workspace_id=workspace_id) for workspace_id in self.workspaces]


def scope_of(request: HttpRequest) -> Scope:
    """The scope of the person who asks, read once for a request."""
    scope: Scope | None = getattr(request, "audit_scope", None)
    if scope is None:
        scope = request.audit_scope = _scope(person(request))  # type: ignore[attr-defined]
    return scope


def _scope(who: Any) -> Scope:
    if not (who.is_active and who.is_staff):
        return Scope(everything=False)
    if who.has_perm(READ_ALL):
        return Scope(everything=True)
    # Through the person, since this app imports no other.
    workspaces = who.memberships.admins().order_by("workspace__name", "workspace_id")
    names = workspaces.values_list("workspace_id", "workspace__name")
    return Scope(everything=False, workspaces=dict(names))
