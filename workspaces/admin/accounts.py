from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth import admin as auth_admin  # registers the two below  # noqa: F401
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest

from config.console.base import OPERATORS, SectionAdmin, request_user
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
from workspaces.permissions import is_operator

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class AccountsAdmin(SectionAdmin):
    """They can be deactivated but not deleted, which would delete memberships too."""

    nouns = "accounts"
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
    list_filter = ("is_active", "is_superuser", "groups")
    ordering = ("username",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "Any part of a name, or of an e-mail address"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts: QuerySet[User] = super().get_queryset(request)
        return accounts.prefetch_related("groups", "memberships")

    def find(self, request: HttpRequest, kind: Kind, text: str) -> str:
        if kind != Kind.EMAIL:
            return super().find(request, kind, text)
        return self.url_of_found(self.get_queryset(request).filter(username__iexact=text), text)

    def as_rows(self, objects: Iterable[User]) -> Iterable[dict[str, Any]]:
        for account in objects:
            yield {"account": account, "role": kinds_of(account), "state": account_pill(account)}
