"""The pages of the second factor: setting it up, recovery codes, removing it."""

from typing import Any

import django_otp
import segno
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from config.console.base import request_user
from config.console.object_page import ActionPage, Prompt, Refused
from config.console.reauthentication import recent_sign_in_required
from workspaces.accounts import recovery_codes, second_factor, steps
from workspaces.accounts.pages import FormView, SitePage, page
from workspaces.accounts.sign_in import CodeForm
from workspaces.accounts.throttle import responds_429

CRUMBS = [("Security", reverse_lazy("admin:security"))]


@method_decorator([never_cache, responds_429], name="dispatch")
class SetUp(SitePage, FormView):
    """Shows the secret of the app that is being set up, and asks for a code that the app shows."""

    form_class = CodeForm
    template_name = "admin/security/set_up.html"
    title = "Set up a second factor"
    user: User
    back = ""  # the name of the page that it is begun on

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        app = second_factor.app_of(self.user, confirmed=False)
        if app is None:
            return HttpResponseRedirect(reverse(self.back))
        picture = segno.make(app.config_url, micro=False)
        self.extra_context = {
            "picture": picture.svg_data_uri(scale=5, dark="black", light="white"),
            "secret": second_factor.secret_of(app),
            "back": reverse(self.back),
        }
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: CodeForm) -> HttpResponse:
        login = self.user.get_username()
        code = form.cleaned_data["code"]
        try:
            codes = second_factor.confirm(self.request, self.user, code, by=login)
        except ValidationError as exc:
            form.add_error("code", exc)
            return self.form_invalid(form)
        if not codes:
            form.add_error("code", "The code is wrong. Is the time on your phone right?")
            return self.form_invalid(form)
        return self.finish(codes)

    def finish(self, codes: list[str]) -> HttpResponse:
        """The response to the right code."""
        raise NotImplementedError


class SetUpAtSignIn(SetUp):
    """For a user who cannot sign in without a second factor, and has none yet."""

    back = "admin:login"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        user = steps.half_signed_in(request)
        # Who has an app must use it: otherwise the password would be enough to replace it.
        if user is None or second_factor.app_of(user) is not None:
            return HttpResponseRedirect(reverse(self.back))
        self.user = user
        return super().dispatch(request, *args, **kwargs)

    def finish(self, codes: list[str]) -> HttpResponse:
        next_url, app = steps.next_url(self.request), second_factor.app_of(self.user)
        response = HttpResponse()
        steps.complete(self.request, response, self.user, app)
        shown = _codes_page(self.request, codes, next_url, set_up=True)
        shown.cookies.update(response.cookies)
        return shown


class OwnSetUp(SetUp):
    """For a signed-in user, also to replace the app."""

    back = "admin:security"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        recent_sign_in_required(request)
        self.user = request_user(request)
        if "start" in request.POST:
            second_factor.begin_set_up(self.user)
            return HttpResponseRedirect(request.path)
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(crumbs=CRUMBS, **kwargs)

    def finish(self, codes: list[str]) -> HttpResponse:
        django_otp.login(self.request, second_factor.app_of(self.user))
        return _codes_page(self.request, codes, reverse(self.back), set_up=True)


class OwnAction(ActionPage):
    """What users who have a second factor do with it."""

    def is_allowed(self) -> bool:
        return True

    def check(self) -> None:
        if second_factor.app_of(self.user) is None:
            raise Refused(f"{self.user} has no second factor.")

    def page(self, template: str, **context: Any) -> HttpResponse:
        return page(self.request, template, crumbs=CRUMBS, back=self.back, **context)

    @property
    def back(self) -> str:
        return reverse("admin:security")


class NewCodes(OwnAction):
    """Replaces the user's recovery codes."""

    def prompt(self) -> Prompt:
        return Prompt(
            title="New recovery codes",
            button="Make new codes",
            sentences=["You get ten new recovery codes. Your former ones no longer work then."],
        )

    def run(self) -> HttpResponse:
        codes = recovery_codes.make(self.user, by=self.login)
        return _codes_page(self.request, codes, self.back)


class RemoveOwn(OwnAction):
    """Removes the user's second factor, unless it is required."""

    def is_allowed(self) -> bool:
        return not second_factor.is_required(self.user)

    def prompt(self) -> Prompt:
        return Prompt(
            title="Remove the second factor",
            button="Remove the second factor",
            sentences=[
                "Your password alone is enough to sign in then. Your recovery codes no longer work."
            ],
            danger=True,
        )

    def run(self) -> str:
        second_factor.remove(self.user, by=self.login)
        return f"The second factor of {self.user} was removed."


def _codes_page(
    request: HttpRequest, codes: list[str], next_url: str, *, set_up: bool = False
) -> HttpResponse:
    """The only page that shows the codes."""
    return page(
        request,
        "admin/security/codes.html",
        title="Your recovery codes",
        crumbs=CRUMBS,
        codes=codes,
        next_url=next_url,
        set_up=set_up,
    ).render()
