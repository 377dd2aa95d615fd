"""The sign-in form: limited, recorded, and the same for accounts that do not exist."""

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import QuerySet, Value
from django.db.models.functions import Collate, Lower
from django.http import HttpRequest

from config.admin.signin import known_browser, signals
from config.admin.signin.throttle import ACCOUNT, BROWSER, Attempt


class LoginForm(AdminAuthenticationForm):
    """Django's form for staff, with limits of failed attempts.

    An account that does not exist is limited like any other.
    """

    request: HttpRequest
    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "The e-mail address or the password is wrong.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "E-mail"

    def clean(self) -> dict[str, Any]:
        login = self.cleaned_data.get("username")
        if not login or not self.cleaned_data.get("password"):
            return self.cleaned_data
        user = account(login)
        if user is not None:
            login = self.cleaned_data["username"] = user.username
        browser = known_browser.cookie_of(self.request, user) if user else ""
        counter = (BROWSER, browser) if browser else (ACCOUNT, login.casefold())
        attempt = Attempt(self.request, counter)
        attempt.check()
        try:
            cleaned: dict[str, Any] = super().clean()
        except forms.ValidationError:
            attempt.count()
            signals.sign_in_failed.send(LoginForm, login=loggable(login))
            raise
        return cleaned


def with_login(login: str) -> QuerySet[User]:
    """The accounts with this login, whatever the case of its ASCII letters.

    In Unicode, and so in `iexact`, "ı" is an "i" and "ſ" an "s": the login of another domain's
    owner.
    """
    folded = Lower(Collate("username", "C"))
    return User.objects.alias(folded=folded).filter(folded=Lower(Collate(Value(login), "C")))


def account(login: str) -> User | None:
    """The account of a typed login: phones begin an e-mail address with a capital letter."""
    found = with_login(login)[:2]
    return found[0] if len(found) == 1 else User.objects.filter(username=login).first()


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
