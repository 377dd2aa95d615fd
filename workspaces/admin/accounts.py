"""Accounts: made, changed and deactivated by operators."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.admin import UserAdmin  # registers the two below
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_post_parameters

from audit.links import filtered_log_url
from config.admin.base import NoPermissions, request_user
from config.admin.formatting import date_column
from config.admin.reauthentication import recent_sign_in_required
from config.system.page import panel as system_panel
from workspaces.accounts.forms import ChangedAccountForm, NewAccountForm, PasswordForm
from workspaces.accounts.notices import address_of, email_changed
from workspaces.accounts.rights import can_sign_in, is_support_staff, kinds_of, save_rights
from workspaces.admin.account_filters import KindFilter, StateFilter
from workspaces.admin.closing import ClosingPages, account_url
from workspaces.models import ConfirmedAddress
from workspaces.permissions import is_operator

if TYPE_CHECKING:
    AccountAdmin = UserAdmin[User]
else:  # generic only in the stubs
    AccountAdmin = UserAdmin

LIST = "admin:auth_user_changelist"

admin.site.unregister(User)
admin.site.unregister(Group)
# For headings and messages. Not in a migration: those of the model's app are Django's.
User._meta.verbose_name = "account"
User._meta.verbose_name_plural = "accounts"


class OperatorsOnly(NoPermissions):
    """Allows operators everything except deleting."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_operator(request_user(request))

    has_add_permission = has_change_permission = has_view_permission


@admin.register(User)
class AccountsAdmin(OperatorsOnly, ClosingPages, AccountAdmin):
    """They can be deactivated but not deleted, which would delete memberships too."""

    description = "Who may sign in: operators, support staff, and the members of workspaces."
    menu_position = 60
    add_text = "Create an account"
    list_display = ("login", "full_name", "kinds", "state", "last_sign_in")
    list_filter = (StateFilter, KindFilter)
    list_per_page = 50
    search_help_text = "Any part of a name, or of an e-mail address"
    sortable_by = ("login", "last_sign_in")
    actions = None
    last_sign_in = date_column("last_login", "last sign-in", empty="never", ordering=True)

    has_module_permission = OperatorsOnly.has_view_permission

    def history_url(self, obj: Model) -> str:
        """What the user did, and what others did to the account."""
        return filtered_log_url(q=obj.get_username())  # type: ignore[attr-defined]

    def panels(self, request: HttpRequest) -> list[SafeString]:
        return [system_panel()]

    # --- The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        accounts: QuerySet[User] = super().get_queryset(request)
        return accounts.prefetch_related("groups", "memberships")

    @admin.display(description="e-mail", ordering="username")
    def login(self, account: User) -> str:
        return account.username

    @admin.display(description="name")
    def full_name(self, account: User) -> str:
        return account.get_full_name()

    @admin.display(description="what they are")
    def kinds(self, account: User) -> str:
        return kinds_of(account)

    @admin.display(description="state")
    def state(self, account: User) -> SafeString:
        return state_pill(account)

    # --- A new one

    @method_decorator(sensitive_post_parameters())
    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        recent_sign_in_required(request)
        form = NewAccountForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            kind = form.cleaned_data["kind"]
            account = form.instance
            save_rights(account, support=kind == "support", operator=kind == "operator")
            messages.success(
                request,
                f"{account} can sign in now. Pass the password on by another channel than the "
                "address of this site.",
            )
            return HttpResponseRedirect(account_url(account))
        return self.page(
            request,
            "admin/auth/user/new.html",
            title="Create an account",
            form=form,
            button="Create the account",
            workspaces_url=reverse("admin:workspaces_workspace_changelist"),
            **self.place(),
        )

    # --- One account

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        account: User = self.visible_or_404(request, object_id)
        known = {"is_support": is_support_staff(account), "is_operator": account.is_superuser}
        login = account.username
        data = request.POST if request.method == "POST" else None
        if data is not None:
            recent_sign_in_required(request)
        address = address_of(account)
        form = ChangedAccountForm(data, instance=account, initial=known)
        if account == request_user(request):
            form.fields["is_operator"].disabled = True  # one operator stays
        changed = form.is_valid() and address_of(account) != address
        if changed and not email_changed(request, login, address):
            form.add_error("email", "Too many e-mails are being sent: try again in a minute.")
        if form.is_valid():
            support, operator = (form.cleaned_data[name] for name in known)
            save_rights(account, support=support, operator=operator)
            messages.success(request, f"{account} was changed.")
            return HttpResponseRedirect(account_url(account))
        memberships = account.memberships.select_related("workspace")
        return self.page(
            request,
            "admin/auth/user/page.html",
            title=login,
            account=account,
            form=form,
            button="Save",
            pill=state_pill(account),
            can_sign_in=can_sign_in(account),
            kinds=kinds_of(account),
            confirmed=ConfirmedAddress.of(account),
            memberships=memberships.order_by("workspace__name", "workspace_id"),
            history_url=filtered_log_url(q=login),
            password_url=reverse("admin:auth_user_password_change", args=[account.pk]),
            is_self=account == request_user(request),
            **self.place(),
        )

    @method_decorator(sensitive_post_parameters())
    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        account: User = self.visible_or_404(request, id)
        recent_sign_in_required(request)
        form = PasswordForm(request.POST if request.method == "POST" else None, instance=account)
        if form.is_valid():
            form.save()
            if account == request_user(request):
                update_session_auth_hash(request, account)
            messages.success(request, f"{account} has another password, and is signed out.")
            return HttpResponseRedirect(account_url(account))
        title, button = f"Set a password for {account}", "Set the password"
        context = {"form": form, "button": button, **self.place(account)}
        return self.page(request, "admin/workspaces/workspace/form.html", title=title, **context)


def state_pill(account: User) -> SafeString:
    if can_sign_in(account):
        return format_html('<span class="pill pill-ok">{}</span>', "Active")
    return format_html('<span class="pill pill-quiet">{}</span>', "Deactivated")
