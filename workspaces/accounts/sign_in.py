import re
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, RedirectURLMixin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.generic import FormView

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.console.reauthentication import entered
from config.request.redaction import contains_raw_key
from workspaces.accounts import known_browser, second_factor, steps, throttle
from workspaces.accounts.logins import loggable, with_login
from workspaces.accounts.pages import SitePage
from workspaces.accounts.throttle import Attempt, responds_429, takes_password

SECRET = re.compile("password|secret|token|code")  # in the names of fields


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
        # After a failed attempt the password is to be typed again.
        self.fields["username"].widget.attrs["autofocus"] = not self.is_bound
        self.fields["password"].widget.attrs["autofocus"] = self.is_bound

    def clean(self) -> dict[str, Any]:
        login = self.cleaned_data.get("username")
        if not login or not self.cleaned_data.get("password"):
            return self.cleaned_data
        user = with_login(login).first()
        if user is not None:
            login = self.cleaned_data["username"] = user.username
        counter = (throttle.ACCOUNT, login.casefold())
        if user is not None and known_browser.knows(self.request, user):
            counter = (throttle.BROWSER, str(user.pk))
        attempt = Attempt(counter)
        attempt.check()
        try:
            cleaned: dict[str, Any] = super().clean()
        except forms.ValidationError:
            attempt.count()
            record(Action.LOGIN_FAILED, by=loggable(login))
            raise
        return cleaned


class SignIn(SitePage, LoginView):
    authentication_form = LoginForm
    template_name = "admin/login.html"
    title = "Sign in"
    next_page = "admin:index"

    def form_valid(self, form: Any) -> HttpResponse:
        return steps.after_password(self.request, form.get_user(), self.get_success_url())


class CodeForm(forms.Form):
    """A code. The field is text, since codes begin with zeros and recovery codes have letters."""

    code = forms.CharField(
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}
        ),
    )


@method_decorator([never_cache, responds_429], name="dispatch")
class CodePage(SitePage, FormView):  # type: ignore[type-arg]
    """Asks for a code. A subclass has a `run`."""

    form_class = CodeForm
    user: User

    def form_valid(self, form: CodeForm) -> HttpResponse:
        try:
            return self.run(form.cleaned_data["code"])
        except ValidationError as exc:
            form.add_error("code", exc)
            return self.form_invalid(form)

    def run(self, code: str) -> HttpResponse:
        """Does what the right code is for; a wrong one is a ValidationError."""
        raise NotImplementedError


class EnterCode(CodePage):
    template_name = "admin/login_code.html"
    title = "Enter a code"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user = steps.half_signed_in(request)
        if user is None:
            return HttpResponseRedirect(reverse("admin:login"))
        self.user = user
        return super().dispatch(request, *args, **kwargs)

    def run(self, code: str) -> HttpResponse:
        device = second_factor.verify(self.user, code, refused=Action.LOGIN_FAILED)
        response = HttpResponseRedirect(steps.next_url(self.request))
        return steps.complete(self.request, self.user, response, device)


class ConfirmPasswordForm(CodeForm):
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )
    field_order = ("password", "code")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.fields["code"].widget.attrs["autofocus"] = False
        if second_factor.app_of(user) is None:
            del self.fields["code"]

    def clean_password(self) -> str:
        return check_own_password(self.user, self.cleaned_data["password"])

    def clean_code(self) -> str:
        """Checks the code after the right password only: a code is valid once."""
        code: str = self.cleaned_data["code"]
        if "password" in self.cleaned_data:
            second_factor.verify(self.user, code, refused=Action.PASSWORD_REFUSED)
        return code


def check_own_password(user: User, password: str) -> str:
    """Returns the password of the signed-in user; a wrong one is counted and recorded.

    Raises ValidationError if it is wrong, or too many were. Attempts to sign in from elsewhere do
    not count towards its limit.
    """
    attempt = Attempt((throttle.SIGNED_IN, str(user.pk)))
    attempt.check()
    if not user.check_password(password):
        attempt.count()
        record(Action.PASSWORD_REFUSED, by=user.get_username())
        raise forms.ValidationError("The password is wrong.", code="password_incorrect")
    return password


@method_decorator(takes_password, name="dispatch")
class ConfirmPassword(SitePage, RedirectURLMixin, FormView):  # type: ignore[type-arg]
    """Asks for the password again, then leads back to `next`, on this site only.

    A form that was redirected here waits in this page, without secrets.
    """

    form_class = ConfirmPasswordForm
    template_name = "admin/confirm_password.html"
    title = "Confirm your password"
    next_page = "admin:index"
    prefix = "confirm"  # the other form may have a field for a code

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs = {**super().get_form_kwargs(), "user": request_user(self.request)}
        if "confirm-password" not in self.request.POST:
            kwargs["data"] = kwargs["files"] = None
        return kwargs

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        fields: list[Any] = [
            (name, value)
            for name, values in self.request.POST.lists()
            for value in values
            if not (SECRET.search(name) or contains_raw_key(str(value)))
        ]
        if self.request.method == "POST" and not kwargs["form"].is_bound:
            fields.append(("waiting", "yes"))
        return super().get_context_data(fields=fields, **kwargs)

    def form_valid(self, form: ConfirmPasswordForm) -> HttpResponse:
        entered(self.request)
        record(Action.PASSWORD_CONFIRMED, by=request_user(self.request).get_username())
        waiting = "waiting" in self.request.POST
        return HttpResponseRedirect(self.get_success_url(), preserve_request=waiting)
