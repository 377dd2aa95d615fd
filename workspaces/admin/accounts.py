from typing import Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin  # registers the two below  # noqa: F401
from django.contrib.auth.models import Group, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from audit.admin.links import filtered_log_url
from config.console.base import ChoiceFilter, SectionAdmin, request_user
from config.console.formatting import date_column
from workspaces.accounts.rights import kinds_of
from workspaces.admin.account_pages import (
    AccountPage,
    Activate,
    CreateAccount,
    Deactivate,
    EndSessions,
    NewPassword,
    RemoveSecondFactor,
    state_pill,
)
from workspaces.admin.staff import EndOperator, EndSupport, MakeOperator, MakeSupport
from workspaces.models import CAN_SIGN_IN
from workspaces.permissions import SUPPORT, is_operator

admin.site.unregister(User)
admin.site.unregister(Group)


class StateFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"
    options = {
        "active": ("Active", lambda accounts: accounts.filter(**CAN_SIGN_IN)),
        "closed": ("Deactivated", lambda accounts: accounts.exclude(**CAN_SIGN_IN)),
    }


class KindFilter(ChoiceFilter):
    title = "role"
    parameter_name = "kind"
    options = {
        "operator": ("Operator", lambda accounts: accounts.filter(is_superuser=True)),
        "support": ("Support", lambda accounts: accounts.filter(groups__name=SUPPORT)),
    }


@admin.register(User)
class AccountsAdmin(SectionAdmin):
    """They can be deactivated but not deleted, which would delete memberships too."""

    nouns = "accounts"
    menu_position = 60
    add_text = "Create an account"
    pages = {
        "add": CreateAccount,
        "change": AccountPage,
        "password": NewPassword,
        "end-sessions": EndSessions,
        "remove-second-factor": RemoveSecondFactor,
        "activate": Activate,
        "deactivate": Deactivate,
        "make-operator": MakeOperator,
        "make-support": MakeSupport,
        "end-operator": EndOperator,
        "end-support": EndSupport,
    }
    list_display = ("login", "full_name", "kinds", "state", "last_sign_in")
    list_filter = (StateFilter, KindFilter)
    list_per_page = 50
    ordering = ("username",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "Any part of a name, or of an e-mail address"
    sortable_by = ("login", "last_sign_in")
    actions = None
    last_sign_in = date_column("last_login", "last sign-in", empty="never", ordering=True)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    def history_url(self, obj: Model) -> str:
        return filtered_log_url(q=obj.get_username())  # type: ignore[attr-defined]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts: QuerySet[User] = super().get_queryset(request)
        return accounts.prefetch_related("groups", "memberships")

    @admin.display(description="e-mail", ordering="username")
    def login(self, account: User) -> str:
        return account.username

    @admin.display(description="name")
    def full_name(self, account: User) -> str:
        return account.get_full_name()

    @admin.display(description="role")
    def kinds(self, account: User) -> str:
        return kinds_of(account)

    @admin.display(description="state")
    def state(self, account: User) -> SafeString:
        return state_pill(account)
