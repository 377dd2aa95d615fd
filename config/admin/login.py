"""Signing in to the admin: rate limited, recorded, and the same for accounts that do not exist."""

import logging
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.dispatch import Signal
from django.http import HttpRequest
from django_ratelimit import ALL
from django_ratelimit.core import get_usage

from config.request_context import client_address

logger = logging.getLogger(__name__)

WINDOW_MINUTES = 5
ATTEMPTS_PER_ACCOUNT = 10  # within one window, from all addresses together
ATTEMPTS_PER_ADDRESS = 50  # within one window; an office shares an address

# Sent with `login`. Django's own signals would also be sent elsewhere, and with the typed login,
# which may be a password.
signed_in = Signal()
sign_in_failed = Signal()


class LoginForm(AdminAuthenticationForm):
    """Django's form for staff, with a limit of attempts for each account and each address.

    An attempt with the right password counts too; otherwise the limit would reveal whether the
    password was right. An account that does not exist is limited like any other.
    """

    request: HttpRequest

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "E-mail"

    def clean(self) -> dict[str, Any]:
        login = self.cleaned_data.get("username")
        if not login or not self.cleaned_data.get("password"):
            return self.cleaned_data
        # Logins are e-mail addresses, and phones begin them with a capital letter.
        known = User.objects.filter(username__iexact=login).values_list("username", flat=True)
        if len(known) == 1:
            login = self.cleaned_data["username"] = known[0]
        check_rate(self.request, login)
        try:
            cleaned: dict[str, Any] = super().clean()
        except forms.ValidationError:
            sign_in_failed.send(LoginForm, login=loggable(login))
            raise
        signed_in.send(LoginForm, login=login)
        return cleaned


def check_rate(request: HttpRequest, login: str) -> None:
    """Counts an attempt to sign in; in this process while Redis is out of reach.

    Raises:
        ValidationError: the account or the address has used up its attempts; `request.throttled`
            is the number of seconds to wait.
    """
    counters = (
        ("login-account", login.casefold(), ATTEMPTS_PER_ACCOUNT),
        ("login-address", client_address(request), ATTEMPTS_PER_ADDRESS),
    )
    for group, value, limit in counters:
        usage = get_usage(
            request,
            group=group,
            key=lambda group, request, value=value: value,
            rate=f"{limit}/{WINDOW_MINUTES}m",
            method=ALL,
            increment=True,
        )
        if usage["should_limit"]:
            logger.warning("Refused a sign-in: too many attempts (%s)", group)
            # `time_left` is 0 in the window's last second, and -1 just after it.
            seconds = max(1, usage["time_left"] + 1)
            request.throttled = seconds  # type: ignore[attr-defined] # for the site's response
            minutes = -(-seconds // 60)
            raise ValidationError(
                f"Too many attempts to sign in. Try again in {minutes} "
                f"minute{'' if minutes == 1 else 's'}."
            )


def loggable(login: str) -> str:
    """The login as the audit log may store it; "" for a text that could be a password.

    Users do type their password into the login field, so only an e-mail address or the login of an
    account is stored.
    """
    known = User.objects.filter(username=login).exists()
    try:
        validate_email(login)
    except ValidationError:
        return login if known else ""
    return login
