from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.console.base import OPERATORS, SectionAdmin
from config.console.identify import Kind
from workspaces.accounts.rights import kinds_of
from workspaces.admin.account_pages import (
    AccountPage,
    Activate,
    CreateAccount,
    Deactivate,
    EndPassword,
    EndSessions,
    RemoveSecondFactor,
    account_pill,
)
from workspaces.admin.staff import EndOperator, EndSupport, MakeOperator, MakeSupport
from workspaces.models import CAN_SIGN_IN
from workspaces.permissions import SUPPORT


class RoleFilter(admin.SimpleListFilter):
    title = parameter_name = "role"
    conditions = {
        "operators": Q(is_superuser=True),
        "support": Q(groups__name=SUPPORT),
        "customers": Q(memberships__isnull=False),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, value.capitalize()) for value in self.conditions]

    def queryset(self, request: HttpRequest, accounts: QuerySet[User]) -> QuerySet[User]:
        return accounts.filter(self.conditions.get(self.value() or "", Q())).distinct()


class StateFilter(RoleFilter):
    title = parameter_name = "state"
    conditions = {"active": Q(**CAN_SIGN_IN), "deactivated": ~Q(**CAN_SIGN_IN)}


@admin.register(User)
class AccountsAdmin(SectionAdmin):
    """They can be deactivated but not deleted, which would delete memberships too."""

    title = "Accounts"
    seen_by = (OPERATORS,)
    menu_position = 60
    add_text = "Create an account"
    pages = {
        "add": CreateAccount,
        "change": AccountPage,
        "password": EndPassword,
        "end-sessions": EndSessions,
        "remove-second-factor": RemoveSecondFactor,
        "activate": Activate,
        "deactivate": Deactivate,
        "make-operator": MakeOperator,
        "make-support": MakeSupport,
        "end-operator": EndOperator,
        "end-support": EndSupport,
    }
    list_filter = (RoleFilter, StateFilter)
    ordering = ("username",)
    found_by = {Kind.EMAIL: "username__iexact"}
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "Any part of a name, or of an e-mail address"
    has_add_permission = SectionAdmin.has_view_permission

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts: QuerySet[User] = super().get_queryset(request)
        return accounts.prefetch_related("groups", "memberships")

    def as_rows(self, objects: Iterable[User]) -> Iterable[dict[str, Any]]:
        for account in objects:
            yield {"account": account, "role": kinds_of(account), "state": account_pill(account)}
