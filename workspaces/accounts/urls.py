"""The addresses of signing in and of accounts' safety."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path

from workspaces.accounts import passwords, sign_in
from workspaces.accounts import second_factor_views as factor
from workspaces.accounts.confirm_password import ConfirmPassword
from workspaces.accounts.first_password import FirstPassword
from workspaces.accounts.security import security
from workspaces.accounts.throttle import responds_429
from workspaces.mails import views as mails

Wrapper = Callable[[Any], Any]


def urls(public: Wrapper, signed_in: Wrapper) -> list[URLPattern]:
    """The addresses, besides those that Django's site has.

    Args:
        public, signed_in: what makes a page of the site of a view.
    """
    confirm_password = responds_429(ConfirmPassword.as_view())
    reset_confirm = public(passwords.ResetConfirm.as_view())
    first_password = public(FirstPassword.as_view())
    return [
        path("login/code/", public(sign_in.EnterCode.as_view()), name="login_code"),
        path("login/set-up/", public(factor.SetUpAtSignIn.as_view()), name="login_set_up"),
        path("reset/", public(passwords.Reset.as_view()), name="password_reset"),
        # `config.runtime.logs` and deploy/nginx.conf keep the tokens of both out of the logs. No
        # `uidb64` begins with "first-": it encodes a number.
        path("reset/first-<uidb64>/<token>/", first_password, name="first_password"),
        path("reset/<uidb64>/<token>/", reset_confirm, name="password_reset_confirm"),
        path("confirm-password/", signed_in(confirm_password), name="confirm_password"),
        path("security/", signed_in(security), name="security"),
        path("mails/off/", public(mails.off), name="mails_off"),
        path("mailbox/", public(mails.mailbox), name="mailbox"),
        path("security/app/", signed_in(factor.OwnSetUp.as_view()), name="security_app"),
        path("security/codes/", signed_in(factor.NewCodes.as_view()), name="security_codes"),
        path("security/remove/", signed_in(factor.RemoveOwn.as_view()), name="security_remove"),
    ]
