"""Signing in: the password, and then the code of the second factor."""

from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from audit.models import Action
from audit.record import record
from workspaces.accounts import known_browser, second_factor, steps
from workspaces.accounts.logins import account, loggable
from workspaces.accounts.pages import FormView, SitePage
from workspaces.accounts.throttle import ACCOUNT, BROWSER, Attempt, responds_429


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
            record(Action.LOGIN_FAILED, by=loggable(login))
            raise
        return cleaned


class SignIn(SitePage, LoginView):
    """The password."""

    authentication_form = LoginForm
    template_name = "admin/login.html"
    title = "Sign in"

    def get_default_redirect_url(self) -> str:
        return reverse("admin:index")

    def form_valid(self, form: LoginForm) -> HttpResponse:
        user: Any = form.get_user()
        return steps.after_password(self.request, user, self.get_success_url())


sign_in = responds_429(SignIn.as_view())


class CodeForm(forms.Form):
    """A code. The field is text, since codes begin with zeros and recovery codes have letters."""

    code = forms.CharField(
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}
        ),
    )


@method_decorator([never_cache, responds_429], name="dispatch")
class EnterCode(SitePage, FormView):
    """The code of the app, or a recovery code."""

    form_class = CodeForm
    template_name = "admin/login_code.html"
    title = "Enter a code"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user = steps.half_signed_in(request)
        if user is None:
            return HttpResponseRedirect(reverse("admin:login"))
        self.user = user
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: CodeForm) -> HttpResponse:
        try:
            device = second_factor.verify(
                self.request, self.user, form.cleaned_data["code"], refused=Action.LOGIN_FAILED
            )
        except ValidationError as exc:
            form.add_error("code", exc)
            return self.form_invalid(form)
        if device is None:
            form.add_error("code", second_factor.WRONG_CODE)
            return self.form_invalid(form)
        response = HttpResponseRedirect(steps.next_url(self.request))
        steps.complete(self.request, response, self.user, device)
        return response
