"""Before something sensitive, the password is asked for again if the sign-in is not recent."""

import time
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.auth.views import RedirectURLMixin
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.admin.base import request_user
from config.admin.signin import signals
from config.admin.signin.pages import FormView, SitePage
from config.admin.signin.throttle import SIGNED_IN, Attempt

RECENT_SECONDS = 15 * 60
_KEY = "password_entered_at"  # of the session: seconds since 1970


def recent_sign_in_required(request: HttpRequest) -> HttpResponse | None:
    """None if the user has entered the password within the last 15 minutes.

    Otherwise a redirect to the page that asks for it, which leads back to this URL. Call it for
    GET, before a form is shown, and for POST: a form that is posted too late has to be filled in
    again, which the page says.
    """
    seconds = time.time() - request.session.get(_KEY, 0)
    if 0 <= seconds < RECENT_SECONDS:
        return None
    query = {"next": request.get_full_path()}
    if request.method == "POST":
        query["unsent"] = "1"
    return HttpResponseRedirect(f"{reverse('admin:confirm_password')}?{urlencode(query)}")


@receiver(user_logged_in)
def entered(request: HttpRequest, **kwargs: Any) -> None:
    """The user has just entered the password."""
    request.session[_KEY] = int(time.time())


class ConfirmPasswordForm(forms.Form):
    """Asks for the password of the signed-in user."""

    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._request = request

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        check_own_password(self._request, password)
        return password


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
