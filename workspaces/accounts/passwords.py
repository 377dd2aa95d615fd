from typing import Any

from django import forms
from django.conf import settings
from django.contrib.admin.forms import AdminPasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator, default_token_generator
from django.contrib.auth.views import (
    PasswordChangeView,
    PasswordResetConfirmView,
    PasswordResetView,
)
from django.http import HttpRequest, HttpResponse
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.views.decorators.cache import never_cache

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.request.context import base_url
from workspaces import mails
from workspaces.accounts import known_browser
from workspaces.accounts.logins import with_login
from workspaces.accounts.pages import SitePage
from workspaces.accounts.rights import confirm_address
from workspaces.accounts.sign_in import check_own_password
from workspaces.accounts.throttle import Attempt, Limit, responds_429, takes_password, usage_of
from workspaces.mails import address_of
from workspaces.models import can_sign_in

# E-mails that are requested within an hour, whether the account exists or not.
RESETS_BY_ADDRESS = Limit("address, reset", 20, minutes=60)
RESETS_OF_ACCOUNT = Limit("account, reset", 5, minutes=60)
# Requests for accounts that do not exist, from all addresses together, that the audit log gets:
# anybody can send them, and its entries stay.
RECORDED_UNKNOWN = Limit("unknown account, reset", 100, minutes=60)
FIRST_PASSWORD_DAYS = 7  # that a link of an operator is valid


class ChangeForm(AdminPasswordChangeForm):
    def clean_old_password(self) -> str:
        return check_own_password(self.user, self.cleaned_data["old_password"])


@method_decorator(takes_password, name="dispatch")
class Change(SitePage, PasswordChangeView):
    form_class = ChangeForm
    success_url = reverse_lazy("admin:security")
    success_message = "Your password was changed. All your other sessions have ended."
    title = "Change your password"
    extra_context = {"crumbs": [("Security", reverse_lazy("admin:security"))]}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        known_browser.remember(response, request_user(self.request))
        return response


class ResetForm(forms.Form):
    email = forms.EmailField(
        label="E-mail", max_length=254, widget=forms.EmailInput({"autocomplete": "email"})
    )

    def clean_email(self) -> str:
        login: str = self.cleaned_data["email"]
        counter = (RESETS_OF_ACCOUNT, login.casefold())
        attempt = Attempt(counter, address=RESETS_BY_ADDRESS)
        attempt.check()
        attempt.count()
        return login

    def save(self, *, request: HttpRequest, **options: Any) -> None:
        """It does as much for a login without an account: nobody learns who has one."""
        login = self.cleaned_data["email"]
        user = with_login(login).first() or User()
        to = address_of(user) if can_sign_in(user) else ""
        unknown = 0 if to else usage_of(RECORDED_UNKNOWN, "all", increment=True)["count"]
        if unknown <= RECORDED_UNKNOWN.attempts:
            record(Action.PASSWORD_RESET_REQUESTED, member=login)
        path = link("password_reset_confirm", user, default_token_generator)
        facts = {"account": user, "path": path, "base_url": base_url(request)}
        template = "registration/password_reset_email.txt"
        mails.send([to], "Set a new password", template, facts)


def link(name: str, user: User, tokens: PasswordResetTokenGenerator) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse(f"admin:{name}", args=[uid, tokens.make_token(user)])


@method_decorator([never_cache, responds_429], name="dispatch")
class Reset(SitePage, PasswordResetView):
    """Asks for the account. The response is the same whether it exists."""

    form_class = ResetForm  # type: ignore[assignment] # it has what the view needs
    template_name = "registration/password_reset_form.html"
    success_url = reverse_lazy("admin:password_reset")
    success_message = (
        "If there is an account with this address, a link to set a new password is on its way. It "
        "is valid for one hour. Nothing after a few minutes? Look for it in your spam folder."
    )
    title = "Set a new password"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Without a mail server there is no form."""
        if not mails.available():
            return self.get(request)
        return super().post(request, *args, **kwargs)


@method_decorator(takes_password, name="dispatch")
class NewPassword(SitePage, PasswordResetConfirmView):
    """A link that sets a password: Django redirects to a URL without the token, and asks there."""

    template_name = "registration/password_reset_confirm.html"
    success_url = reverse_lazy("admin:login")
    success_message = "Sign in with your new password."
    title = "Set a new password"

    def get_user(self, uidb64: str) -> User | None:
        user: User | None = super().get_user(uidb64)
        return user if user and can_sign_in(user) else None


class ResetConfirm(NewPassword):
    """The link of the e-mail, which only its owner has."""

    extra_context = {"valid_for": "an hour"}
    success_message = f"{NewPassword.success_message} All your sessions have ended."

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        user: User = form.user
        confirm_address(user, address_of(user))
        return response


class FirstTokens(PasswordResetTokenGenerator):
    key_salt = "workspaces.accounts.first_password"

    def make_token(self, user: Any) -> str:
        longer = FIRST_PASSWORD_DAYS * 24 * 60 * 60 - settings.PASSWORD_RESET_TIMEOUT
        time = self._num_seconds(self._now()) + longer
        return self._make_token_with_timestamp(user, time, self.secret)


class FirstPassword(NewPassword):
    """The link that an operator has passed on: it confirms no address."""

    token_generator = FirstTokens()
    extra_context = {"valid_for": f"{FIRST_PASSWORD_DAYS} days"}
