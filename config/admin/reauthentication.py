"""Before something sensitive, the password is asked for again if the sign-in is not recent.

Users with a second factor enter a code too.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.auth.views import RedirectURLMixin
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.admin import second_factor
from config.admin.base import request_user
from config.admin.signin import signals
from config.admin.signin.pages import FormView, SitePage
from config.admin.signin.throttle import SIGNED_IN, Attempt
from config.admin.signin.views import CodeForm

RECENT_SECONDS = 15 * 60
_KEY = "password_entered_at"  # of the session: seconds since 1970


class PasswordNeeded(Exception):
    """The user must enter the password before this request is served."""


def recent_sign_in_required(request: HttpRequest) -> None:
    """Does nothing if the user has entered the password within the last 15 minutes.

    Call it for GET, before a form is shown, and for POST.

    Raises:
        PasswordNeeded: it was longer ago; `asks_for_password` makes the response.
    """
    if not 0 <= time.time() - request.session.get(_KEY, 0) < RECENT_SECONDS:
        raise PasswordNeeded


def asks_for_password(view: Callable[..., Any]) -> Callable[..., Any]:
    """Redirects to the page that asks for the password if the view needs it.

    That page leads back to this URL, with GET: a form that is posted too late has to be filled in
    again, which the page says.
    """

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return view(request, *args, **kwargs)
        except PasswordNeeded:
            query = {"next": request.get_full_path()}
            if request.method == "POST":
                query["unsent"] = "1"
            url = f"{reverse('admin:confirm_password')}?{urlencode(query)}"
            return HttpResponseRedirect(url)

    return inner


@receiver(user_logged_in)
def entered(request: HttpRequest, **kwargs: Any) -> None:
    """The user has just entered the password."""
    request.session[_KEY] = int(time.time())


class ConfirmPasswordForm(CodeForm):
    """Asks for the password of the signed-in user, and for a code if there is a second factor."""

    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )
    field_order = ("password", "code")

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request
        self.fields["code"].widget.attrs["autofocus"] = False
        if second_factor.app_of(request_user(request)) is None:
            del self.fields["code"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        check_own_password(self._request, password)
        return password

    def clean_code(self) -> str:
        """Checks the code after the right password only: a code is valid once."""
        code: str = self.cleaned_data["code"]
        user, failed = request_user(self._request), signals.password_refused
        if "password" in self.cleaned_data and not second_factor.verify(
            self._request, user, code, failed=failed
        ):
            raise forms.ValidationError(second_factor.WRONG_CODE)
        return code


def check_own_password(request: HttpRequest, password: str) -> None:
    """Checks the password of the signed-in user; a wrong one is counted and recorded.

    The limit is the user's own: attempts to sign in from elsewhere do not use it up.

    Raises:
        ValidationError: it is wrong, or too many were.
    """
    user: User = request_user(request)
    attempt = Attempt(request, (SIGNED_IN, str(user.pk)))
    attempt.check()
    if not user.check_password(password):
        attempt.count()
        signals.password_refused.send(User, login=user.get_username())
        raise forms.ValidationError("The password is wrong.", code="password_incorrect")


class ConfirmPassword(SitePage, RedirectURLMixin, FormView):
    """The page that asks for the password again; it leads back to `next`, on this site only."""

    form_class = ConfirmPasswordForm
    template_name = "admin/confirm_password.html"
    title = "Confirm your password"

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(next=self.get_redirect_url(), **kwargs)

    def get_default_redirect_url(self) -> str:
        return reverse("admin:index")

    def form_valid(self, form: ConfirmPasswordForm) -> HttpResponse:
        entered(self.request)
        login = request_user(self.request).get_username()
        signals.password_confirmed.send(User, login=login)
        return HttpResponseRedirect(self.get_success_url())
