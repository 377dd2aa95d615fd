"""The list's filters: a key's state, and its workspace where a person administers several."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apikeys.models import ApiKey
from workspaces.permissions import administered_by


class StateFilter(admin.SimpleListFilter):
    """Active or revoked."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        match self.value():
            case "active":
                return queryset.filter(revoked_at=None)
            case "revoked":
                return queryset.exclude(revoked_at=None)
            case _:
                return queryset


class WorkspaceFilter(admin.SimpleListFilter):
    """One of the person's own workspaces; any other id is one without keys."""

    title = "workspace"
    parameter_name = "workspace"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        mine: Any = administered_by(request.user).order_by("name", "id")
        names = [(str(workspace.pk), workspace.name) for workspace in mine]
        return names if len(names) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        chosen = self.value()
        if chosen is None:
            return queryset
        return queryset.filter(workspace_id=chosen) if chosen in self.ids() else queryset.none()

    def ids(self) -> list[str]:
        return [str(value) for value, _ in self.lookup_choices]
