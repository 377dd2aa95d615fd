"""The filters of the list of accounts."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from workspaces.permissions import SUPPORT


class StateFilter(admin.SimpleListFilter):
    """Whether an account can sign in."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("closed", "Deactivated")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        able = {"is_active": True, "is_staff": True}
        if self.value() == "active":
            return queryset.filter(**able)
        return queryset.exclude(**able) if self.value() == "closed" else queryset


class KindFilter(admin.SimpleListFilter):
    """Support staff or operators."""

    title = "what they are"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("operator", "Operator"), ("support", "Support")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        if self.value() == "operator":
            return queryset.filter(is_superuser=True)
        return queryset.filter(groups__name=SUPPORT) if self.value() == "support" else queryset
