from copy import copy
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console.formatting import pill
from config.console.object_page import ActionPage, Prompt, Refused
from config.console.reauthentication import password_needed
from config.request.context import base_url
from workspaces import changes, mails
from workspaces.accounts import passwords, second_factor, sessions
from workspaces.accounts.forms import AccountForm
from workspaces.accounts.logins import saving_login
from workspaces.accounts.rights import is_support_staff, kinds_of
from workspaces.mails import address_of
from workspaces.models import CAN_SIGN_IN, ConfirmedAddress, can_sign_in


def account_pill(account: User) -> SafeString:
    return pill("ok", "Active") if can_sign_in(account) else pill("quiet", "Deactivated")


class OfAnother(ActionPage):
    """What no operator does to their own account."""

    obj: User
    own = "This is your own account. Its pages are under Security."

    def check(self) -> None:
        if self.obj == self.user:
            raise Refused(self.own)


class LinkPage(OfAnother):
    """Ends in a link to choose a password. The response to its POST is the only one that has it."""

    def link(self) -> HttpResponse:
        path = passwords.link("first_password", self.obj, passwords.FirstPassword.token_generator)
        return self.render_page(
            "admin/secret.html",
            title=f"Link for {self.obj}",
            what="link",
            of=self.obj,
            raw=f"{base_url(self.request)}{path}",
            about=[
                "With it, this person can choose a password. It works once, within "
                f"{passwords.FIRST_PASSWORD_DAYS} days.",
                "Send it only to this person. Anybody who opens it can sign in to the account.",
            ],
        )


class CreateAccount(LinkPage):
    form_class = AccountForm

    def prompt(self) -> Prompt:
        text = format_html(
            "For staff of this service. The next page shows a link to choose a password, once. "
            'People of a customer are invited on the <a href="{}">workspace’s page</a>.',
            reverse("admin:workspaces_workspace_changelist"),
        )
        return Prompt("Create an account", "Create the account", [text])

    def run(self) -> HttpResponse:
        self.obj = self.form.instance
        self.obj.is_staff = True
        self.obj.set_unusable_password()
        with saving_login():
            self.obj.save()
        return self.link()


class AccountPage(ActionPage):
    template_name = "admin/auth/user/page.html"
    asks_password = False  # before it is changed
    form_class = AccountForm
    obj: User

    def post(self, request: HttpRequest) -> HttpResponse:
        return password_needed(request) or super().post(request)

    def form_arguments(self) -> dict[str, Any]:
        return {"instance": copy(self.obj)}

    def prompt(self) -> Prompt:
        return Prompt(title=str(self.obj), button="Save")

    def context(self) -> dict[str, Any]:
        memberships = self.obj.memberships.select_related("workspace")
        return {
            "account": self.obj,
            "pill": account_pill(self.obj),
            "can_sign_in": can_sign_in(self.obj),
            "has_app": second_factor.app_of(self.obj) is not None,
            "kinds": kinds_of(self.obj),
            "is_support": is_support_staff(self.obj),
            "confirmed": ConfirmedAddress.of(self.obj),
            "memberships": memberships.order_by("workspace__name", "workspace_id"),
        }

    def run(self) -> str:
        account = self.form.instance
        with saving_login():
            if address_of(account) != address_of(self.obj):
                text = "E-mails about it, and links to set its password, go to another address now."
                mails.tell_account(self.obj, "E-mail address changed", text, by=self.login)
            account.save()
        return f"{account} was changed."

    @property
    def back(self) -> str:
        return reverse("admin:auth_user_changelist")

    @property
    def next_url(self) -> str:
        return self.request.path


class EndPassword(LinkPage):
    """For a user who has lost the password, or somebody else knows it. No operator types one."""

    def prompt(self) -> Prompt:
        text = (
            f"The present password of {self.obj} ends now, and so do all sessions. The next page "
            "shows a link to choose a new one, once. Make sure that it is really this person who "
            "asks you."
        )
        return Prompt(f"New password for {self.obj}", "End the password", [text], danger=True)

    def check(self) -> None:
        super().check()
        if not can_sign_in(self.obj):
            raise Refused(f"{self.obj} cannot sign in.")

    def run(self) -> HttpResponse:
        self.obj.set_unusable_password()
        self.obj.save()
        return self.link()


class RemoveSecondFactor(OfAnother):
    def prompt(self) -> Prompt:
        title = "Remove the second factor"
        text = (
            f"{self.obj} can sign in with the password alone, and sets up a new second factor then "
            "if one is required. Make sure that it is really this person who asks you."
        )
        return Prompt(title, title, [text], danger=True)

    def check(self) -> None:
        super().check()
        if second_factor.app_of(self.obj) is None:
            raise Refused(f"{self.obj} has no second factor.")

    def run(self) -> str:
        second_factor.remove(self.obj, by=self.login)
        return f"The second factor of {self.obj} was removed."


class EndSessions(OfAnother):
    def prompt(self) -> Prompt:
        text = (
            f"{self.obj} is signed out of every browser by the next click, and can sign in again. "
            "If somebody else knows the password, end it instead, which ends the sessions too."
        )
        return Prompt("End all sessions", "End all sessions", [text], danger=True)

    def run(self) -> str:
        ended = sessions.end(self.obj, by=self.login)
        return f"{self.obj} was signed out." if ended else f"{self.obj} was not signed in."


class Deactivate(OfAnother):
    """The warning about workspaces without an admin must have been shown."""

    own = "You cannot deactivate your own account: ask another operator."

    def prompt(self) -> Prompt:
        orphans = changes.solely_administered_by(self.obj)
        return Prompt(
            title=f"Deactivate {self.obj}?",
            button=f"Deactivate {self.obj}",
            sentences=[
                "The user is signed out by the next click, and cannot sign in any more. "
                "Memberships stay, and the account can be activated again.",
                "Keys that the user has created keep working: revoke those whose text the user "
                "may have kept.",
                *(
                    f"{each.label} has no other admin who can sign in: nobody could create or "
                    "revoke its keys. Better first invite another admin."
                    for each in orphans
                ),
            ],
            danger=True,
            hidden=[("last_admin", "yes")] if orphans else [],
        )

    def run(self) -> str:
        changes.deactivate(self.obj, even_last_admin="last_admin" in self.request.POST)
        return f"{self.obj} cannot sign in any more."


class Activate(ActionPage):
    obj: User

    def prompt(self) -> Prompt:
        title = f"Activate {self.obj}"
        return Prompt(f"{title}?", title, ["The user can sign in again, with the same roles."])

    def run(self) -> str:
        self.obj.is_active = self.obj.is_staff = True
        self.obj.save(update_fields=CAN_SIGN_IN)
        return f"{self.obj} can sign in again."
