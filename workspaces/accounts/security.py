"""The page Security: the user's own account. Its forms say in `do` what they change."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache

from audit.models import Action
from audit.record import record
from config.console.base import request_user
from config.console.reauthentication import password_needed
from workspaces.accounts import recovery_codes, second_factor, sessions
from workspaces.accounts.pages import render_page
from workspaces.models import Mail, NoMails


def security(request: HttpRequest) -> HttpResponse:
    user = request_user(request)
    if request.method == "POST":
        if request.POST.get("do") != "mails":
            done = end_sessions(request, user)
        elif needed := password_needed(request):
            return needed
        else:
            done = choose_mails(user, wanted="wanted" in request.POST)
        messages.success(request, done)
        return HttpResponseRedirect(request.path)
    return render_page(
        request,
        "admin/security/index.html",
        title="Security",
        app=second_factor.app_of(user),
        codes_left=recovery_codes.left(user),
        required=second_factor.is_required(user),
        sessions=sessions.sessions_of(user),
        current=sessions.digest(request.session.session_key),
        sign_ins=sessions.sign_ins_of(user),
        no_mails=NoMails.objects.filter(user=user).exists(),
    )


@transaction.atomic
def choose_mails(user: User, *, wanted: bool) -> str:
    if wanted:
        NoMails.objects.filter(user=user).delete()
    else:
        NoMails.objects.get_or_create(user=user)
    detail = f"e-mails about workspaces: {'yes' if wanted else 'no'}"
    record(Action.ACCOUNT_CHANGED, by=str(user), member=str(user), detail=detail)
    return "Your choice of e-mails was saved."


def end_sessions(request: HttpRequest, user: User) -> str:
    sent = request.POST
    only = "" if "all" in sent else sent.get("session") or "none"
    ended = sessions.end(user, by=str(user), only=only, but=request.session.session_key)
    return "Signed out there." if ended else "It had ended already."


@never_cache
def mailbox(request: HttpRequest) -> HttpResponse:
    """The newest e-mails of `make run`, which sends none, for everybody there."""
    if not settings.ON_LAPTOP or settings.HTTPS_ONLY:
        raise Http404
    newest = Mail.objects.exclude(to="").order_by("-pk")[:50]
    return render_page(request, "admin/mailbox.html", title="Mailbox", mails=newest)
