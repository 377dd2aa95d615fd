"""The page behind an invitation's link: the only one that works without signing in.

The token is in the query of the link, which no log has (`config.request.middleware.log_request`,
deploy/nginx.conf). If it opens an invitation, the first request moves it out of the URL: the
session stores the invitation's id, and no link on the page can pass a secret on.
"""

from typing import Any

from django.contrib import messages
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from audit.scope import WORKSPACE
from workspaces.accounts import invitations, steps
from workspaces.accounts.forms import InvitedAccountForm
from workspaces.accounts.invitations import NotOpen
from workspaces.accounts.logins import with_login
from workspaces.accounts.pages import render_page
from workspaces.accounts.throttle import Attempt, Limit, takes_password
from workspaces.models import Invitation, can_sign_in

KEY = "invitation"  # in the session: the id of the invitation that was opened
WRONG_LINKS = Limit("invitation", 30)  # from one address
PROBLEMS = {
    "expired": f"This invitation has expired: a link works for {invitations.DAYS} days.",
    "used": "This invitation has been accepted already. Sign in with the account that accepted it.",
    "revoked": "This invitation was revoked, or replaced by a newer one.",
    "unknown": "This is not the link of an invitation. Perhaps a part of it was lost on the way: "
    "copy all of it from the message.",
}
ADVICE = "Ask the person who invited you for a new link."


@never_cache
@takes_password
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters()
def invitation(request: HttpRequest) -> HttpResponse:
    if "token" in request.GET:
        return open_link(request, request.GET["token"])
    try:
        opened = invitations.find(pk=request.session.get(KEY))
    except NotOpen as exc:
        return problem(request, str(exc))
    return respond(request, opened)


def open_link(request: HttpRequest, token: str) -> HttpResponse:
    attempt = Attempt(address=WRONG_LINKS)
    try:
        attempt.check()
        request.session[KEY] = invitations.find(digest=invitations.hash_of(token)).pk
    except ValidationError as exc:
        return render_invitation(request, problem=exc.message)
    except NotOpen as exc:
        attempt.count()
        return problem(request, str(exc))
    response = HttpResponseRedirect(reverse("invitation"))
    response["Referrer-Policy"] = "no-referrer"
    return response


def respond(request: HttpRequest, opened: Invitation) -> HttpResponse:
    account, user = with_login(opened.email).first(), request.user
    if user.is_authenticated and not (user == account and site.has_permission(request)):
        return render_invitation(request, opened, other=user)
    if account is None:
        return new_account(request, opened)
    if not can_sign_in(account):
        return render_invitation(request, opened, problem="deactivated")
    if not user.is_authenticated:
        login = f"{reverse('admin:login')}?{urlencode({'next': reverse('invitation')})}"
        return render_invitation(request, opened, login_url=login)
    if request.method != "POST":
        return render_invitation(request, opened, accepts=True)
    start = reverse("admin:index", query={WORKSPACE: opened.workspace.pk})
    return accept(request, opened, account) or HttpResponseRedirect(start)


def new_account(request: HttpRequest, opened: Invitation) -> HttpResponse:
    account = User(username=opened.email, email=opened.email, is_staff=True)
    data = request.POST if request.method == "POST" else None
    form = InvitedAccountForm(data, instance=account)
    if not form.is_valid():
        return render_invitation(request, opened, form=form)
    form.save(commit=False)
    refused = accept(request, opened, account)
    return refused or steps.after_password(request, account, reverse("admin:index"))


def accept(request: HttpRequest, opened: Invitation, account: User) -> HttpResponse | None:
    """Makes the account a member; the response if the invitation is not open any more."""
    before, request.user = request.user, account  # who acts, for the audit log
    try:
        invitations.accept(opened, account)
    except (NotOpen, IntegrityError) as exc:  # another form was quicker
        request.user = before  # no page is for an account that is not stored
        if isinstance(exc, NotOpen):
            return problem(request, str(exc))
        return HttpResponseRedirect(reverse("invitation"))
    del request.session[KEY]
    messages.success(request, f"You are now an admin of {opened.workspace}.")
    return None


def problem(request: HttpRequest, why: str) -> HttpResponse:
    text = PROBLEMS[why] if why == "used" else f"{PROBLEMS[why]} {ADVICE}"
    response = render_invitation(request, problem=text)
    response.status_code = 404 if why == "unknown" else 410
    return response


def render_invitation(
    request: HttpRequest, opened: Invitation | None = None, **context: Any
) -> HttpResponse:
    workspace = opened and opened.workspace
    title = f"Invitation to {workspace}" if workspace else "This invitation cannot be opened"
    return render_page(request, "admin/invitation.html", title=title, invitation=opened, **context)
