from base64 import b32encode
from textwrap import wrap
from typing import Any

import django_otp
import segno
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse, reverse_lazy

from audit.models import Action
from config.console.base import request_user
from config.console.object_page import ActionPage, Prompt, Refused
from config.console.reauthentication import password_needed
from workspaces import mails
from workspaces.accounts import recovery_codes, second_factor, steps
from workspaces.accounts.pages import render_page
from workspaces.accounts.sign_in import CodePage

SET_UP = "Your second factor is set up."
CRUMBS: list[tuple[str, Any]] = [("Security", reverse_lazy("admin:security"))]


class SetUp(CodePage):
    template_name = "admin/security/set_up.html"
    title = "Set up a second factor"
    back = ""  # the name of the page that it is begun on

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        app = second_factor.app_of(self.user, confirmed=False)
        if app is None:
            return HttpResponseRedirect(reverse(self.back))
        picture = segno.make(app.config_url, micro=False)
        self.extra_context = {
            "picture": picture.svg_data_uri(scale=5, dark="black", light="white"),
            "secret": " ".join(wrap(b32encode(app.bin_key).decode().rstrip("="), 4)),
            "back": reverse(self.back),
            "crumbs": CRUMBS,  # shown once the user is signed in
        }
        return super().dispatch(request, *args, **kwargs)


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

    def run(self, code: str) -> HttpResponse:
        codes = second_factor.confirm(self.user, code)
        next_url, app = steps.next_url(self.request), second_factor.app_of(self.user)
        response = steps.complete(self.request, self.user, HttpResponse(), app)
        messages.success(self.request, SET_UP)
        shown = _codes_page(self.request, codes, next_url)
        shown.cookies.update(response.cookies)
        return shown


class OwnSetUp(SetUp):
    back = "admin:security"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if needed := password_needed(request):
            return needed
        self.user = request_user(request)
        if "start" in request.POST:
            second_factor.begin_set_up(self.user)
            return HttpResponseRedirect(request.path)
        return super().dispatch(request, *args, **kwargs)

    def run(self, code: str) -> HttpResponse:
        codes = second_factor.confirm(self.user, code)
        django_otp.login(self.request, second_factor.app_of(self.user))
        messages.success(self.request, SET_UP)
        return _codes_page(self.request, codes, reverse(self.back))


class OwnAction(ActionPage):
    def is_allowed(self) -> bool:
        return True

    def check(self) -> None:
        if second_factor.app_of(self.user) is None:
            raise Refused(f"{self.user} has no second factor.")

    def crumbs(self) -> list[tuple[str, str]]:
        return CRUMBS

    @property
    def back(self) -> str:
        return reverse("admin:security")


class NewCodes(OwnAction):
    def prompt(self) -> Prompt:
        text = "You get ten new recovery codes. Your former ones no longer work then."
        return Prompt("New recovery codes", "Make new codes", [text])

    def run(self) -> HttpResponse:
        codes = recovery_codes.make(self.user)
        mails.tell_account(self.user, Action.RECOVERY_CODES_MADE.label, by=self.login)
        return _codes_page(self.request, codes, self.back)


class RemoveOwn(OwnAction):
    def prompt(self) -> Prompt:
        title = "Remove the second factor"
        text = "Your password alone is enough to sign in then. Your recovery codes no longer work."
        return Prompt(title, title, [text], danger=True)

    def is_allowed(self) -> bool:
        return not second_factor.is_required(self.user)

    def run(self) -> str:
        second_factor.remove(self.user, by=self.login)
        return f"The second factor of {self.user} was removed."


def _codes_page(request: HttpRequest, codes: list[str], next_url: str) -> HttpResponse:
    return render_page(
        request,
        "admin/secret.html",
        title="Your recovery codes",
        crumbs=CRUMBS,
        what="recovery codes",
        of=request.user,
        raw="\n".join(codes),
        about=[
            "Each signs you in once if you do not have your phone. Print them, or copy them into "
            "your password manager. Only these work from now on."
        ],
        back=next_url,
    )
