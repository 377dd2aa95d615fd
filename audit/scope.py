"""Whose history a person sees, asked anew by every request."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest

from config.admin.base import request_user

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
    """The scope of the signed-in user, read once per request."""
    scope: Scope | None = getattr(request, "audit_scope", None)
    if scope is None:
        scope = request.audit_scope = _scope(request_user(request))  # type: ignore[attr-defined]
    return scope


def workspace_directory() -> Any:
    """The module that knows workspaces, with `administered_names` and `autocomplete`."""
    return import_module(settings.AUDIT_WORKSPACE_DIRECTORY)


def _scope(user: User) -> Scope:
    if not (user.is_active and user.is_staff):
        return Scope(everything=False)
    if user.has_perm(READ_ALL):
        return Scope(everything=True)
    return Scope(everything=False, workspaces=workspace_directory().administered_names(user))
