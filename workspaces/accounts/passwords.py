"""Changing one's password, and resetting it with a link that is sent by e-mail."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.views import (
    PasswordChangeView,
    PasswordResetConfirmView,
    PasswordResetView,
)
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.runtime.request_context import base_url
from workspaces.accounts import known_browser
from workspaces.accounts.confirm_password import check_own_password
from workspaces.accounts.logins import account
from workspaces.accounts.notices import address_of
from workspaces.accounts.pages import SitePage
from workspaces.accounts.rights import can_sign_in, confirm_address
from workspaces.accounts.throttle import Attempt, Limit, responds_429, usage_of
from workspaces.mails import queue as mail

# E-mails that are requested within an hour, whether the account exists or not.
RESETS_BY_ADDRESS = Limit("address, reset", 20, minutes=60)
RESETS_OF_ACCOUNT = Limit("account, reset", 5, minutes=60)
# Requests for accounts that do not exist, from all addresses together, that the audit log gets:
# anybody can send them, and its entries stay.
RECORDED_UNKNOWN = Limit("unknown account, reset", 100, minutes=60)


SUBJECT, EMAIL = "Set a new password", "registration/password_reset_email.txt"


class ChangeForm(AdminPasswordChangeForm):
    """Django's form; a wrong old password is counted and recorded."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean_old_password(self) -> str:
        password: str = self.cleaned_data["old_password"]
        check_own_password(self._request, password)
        return password


class Change(SitePage, PasswordChangeView):
    """Changes one's own password."""

    form_class = ChangeForm
    success_url = reverse_lazy("admin:security")
    success_message = "Your password was changed. All your other sessions have ended."
    title = "Change your password"
    extra_context = {"crumbs": [("Security", reverse_lazy("admin:security"))]}

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        known_browser.remember(response, request_user(self.request))
        return response


change = responds_429(Change.as_view())


class ResetForm(PasswordResetForm):
    """Sends a link to an account's address, if that account may sign in."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if login := cleaned.get("email"):
            counter = (RESETS_OF_ACCOUNT, login.casefold())
            attempt = Attempt(self._request, counter, address=RESETS_BY_ADDRESS)
            attempt.check()
            attempt.count()
        return cleaned

    def get_users(self, email: str) -> list[User]:
        user = account(email)
        return [user] if user and can_sign_in(user) and address_of(user) else []

    def save(self, *args: Any, **kwargs: Any) -> None:
        login = self.cleaned_data["email"]
        if self.get_users(login) or self._is_recorded():
            record(Action.PASSWORD_RESET_REQUESTED, member=login)
        base = urlsplit(base_url(self._request))
        kwargs |= {"domain_override": base.netloc, "use_https": base.scheme == "https"}
        super().save(*args, **kwargs)
        if not self.get_users(login):  # it takes as long, so that nobody learns who has an account
            nobody = {"user": User(), "uid": "-", "token": "-", "protocol": base.scheme}
            mail.send(SUBJECT, EMAIL, nobody | {"domain": base.netloc}, to="")

    def _is_recorded(self) -> bool:
        usage = usage_of(self._request, RECORDED_UNKNOWN, "all", increment=True)
        return usage["count"] <= RECORDED_UNKNOWN.attempts

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,
        to_email: str,
        html_email_template_name: str | None = None,
    ) -> None:
        mail.send(SUBJECT, EMAIL, context, address_of(context["user"]))


@method_decorator([never_cache, responds_429], name="dispatch")
class Reset(SitePage, PasswordResetView):
    """Asks for the account. The response is the same whether it exists."""

    form_class = ResetForm
    template_name = "registration/password_reset_form.html"
    success_url = reverse_lazy("admin:password_reset")
    success_message = (
        "If there is an account with this address, a link to set a new password is on its way. It "
        "is valid for one hour. Nothing after a few minutes? Look for it in your spam folder."
    )
    title = "Set a new password"

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(mail_available=mail.available(), **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Without a mail server there is no form."""
        if not mail.available():
            return self.get(request)
        return super().post(request, *args, **kwargs)


class NewPassword(SitePage, PasswordResetConfirmView):
    """A link that sets a password: Django redirects to a URL without the token, and asks there."""

    template_name = "registration/password_reset_confirm.html"
    success_url = reverse_lazy("admin:login")
    success_message = "Sign in with your new password. All your sessions have ended."
    title = "Set a new password"

    def get_user(self, uidb64: str) -> User | None:
        user: User | None = super().get_user(uidb64)
        return user if user and can_sign_in(user) else None


class ResetConfirm(NewPassword):
    """The link of the e-mail, which only its owner has."""

    extra_context = {"valid_for": "an hour"}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        user: User = form.user
        confirm_address(user, address_of(user))
        return response
