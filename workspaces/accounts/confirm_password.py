"""The page that asks a signed-in user for the password again, and for a code."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.views import RedirectURLMixin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.console.reauthentication import entered
from workspaces.accounts import second_factor
from workspaces.accounts.pages import FormView, SitePage
from workspaces.accounts.sign_in import CodeForm
from workspaces.accounts.throttle import SIGNED_IN, Attempt


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
        user = request_user(self._request)
        if "password" in self.cleaned_data and not second_factor.verify(
            self._request, user, code, refused=Action.PASSWORD_REFUSED
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
        record(Action.PASSWORD_REFUSED, by=user.get_username())
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
        record(Action.PASSWORD_CONFIRMED, by=request_user(self.request).get_username())
        return HttpResponseRedirect(self.get_success_url())
