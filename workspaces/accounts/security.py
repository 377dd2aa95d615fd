"""The page Security: the user's own account. Its forms say in `do` what they change."""

from copy import copy
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.console.reauthentication import recent_sign_in_required
from workspaces import mails
from workspaces.accounts import recovery_codes, second_factor, sessions
from workspaces.accounts.forms import NameForm
from workspaces.accounts.pages import page
from workspaces.models import Mail, NoMails

THEME = "theme"  # a cookie, which the template of all pages reads
THEMES = {"": "As the system", "light": "Light", "dark": "Dark"}
YEAR = 365 * 24 * 60 * 60  # seconds


def security(request: HttpRequest) -> HttpResponse:
    user = request_user(request)
    if request.method == "POST":
        response = HttpResponseRedirect(request.path)
        messages.success(request, change(request, user, response))
        return response
    return page(
        request,
        "admin/security/index.html",
        title="Security",
        name=NameForm(instance=user),
        app=second_factor.app_of(user),
        codes_left=recovery_codes.left(user),
        required=second_factor.is_required(user),
        sessions=sessions.sessions_of(user),
        current=sessions.digest(request.session.session_key),
        sign_ins=sessions.sign_ins_of(user),
        mails=mails.available(),
        no_mails=NoMails.objects.filter(user=user).exists(),
        theme=request.COOKIES.get(THEME, ""),
        themes=THEMES,
    )


def change(request: HttpRequest, user: User, response: HttpResponse) -> str:
    sent = request.POST
    if sent.get("do") in ("name", "mails"):
        recent_sign_in_required(request)
    match sent.get("do"):
        case "name":
            form = NameForm(sent, instance=copy(user))
            if not form.is_valid():
                raise BadRequest
            form.save()
            return "Your name was changed."
        case "mails":
            none = "no_mails" in sent
            with transaction.atomic():
                if none:
                    NoMails.objects.get_or_create(user=user)
                else:
                    NoMails.objects.filter(user=user).delete()
                detail = f"e-mails about workspaces: {'no' if none else 'yes'}"
                record(Action.ACCOUNT_CHANGED, by=str(user), member=str(user), detail=detail)
            return "Your choice of e-mails was saved."
        case "theme":
            secure: Any = {"secure": settings.SESSION_COOKIE_SECURE, "httponly": True}
            response.set_cookie(THEME, sent.get(THEME, "")[:5], YEAR, samesite="Lax", **secure)
            return "The theme was changed in this browser."
    only = "" if "all" in sent else sent.get("session") or "none"
    ended = sessions.end(user, by=str(user), only=only, but=request.session.session_key)
    return "Signed out there." if ended else "It had ended already."


@never_cache
def mailbox(request: HttpRequest) -> HttpResponse:
    """The newest e-mails of `make run`, which sends none, for everybody there."""
    if not settings.MAILBOX or settings.HTTPS_ONLY:
        raise Http404
    newest = Mail.objects.exclude(to="").order_by("-pk")[:50]
    return page(request, "admin/mailbox.html", title="Mailbox", mails=newest)
