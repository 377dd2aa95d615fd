"""The steps of a sign-in: between the password and the code nobody is signed in to anything."""

import time

import django_otp
from django.contrib.auth import SESSION_KEY, login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django_otp.models import Device

from audit.models import Action
from audit.record import record
from workspaces import mails
from workspaces.accounts import known_browser, second_factor
from workspaces.accounts.sessions import in_words
from workspaces.models import CAN_SIGN_IN

SECONDS_FOR_CODE = 10 * 60
_KEY = "password_accepted"  # of the session


def after_password(request: HttpRequest, user: User, next_url: str) -> HttpResponse:
    has_app = second_factor.app_of(user) is not None
    if not (has_app or second_factor.is_required(user)):
        return complete(request, user, HttpResponseRedirect(next_url))
    if SESSION_KEY in request.session:  # somebody is signed in
        request.session.flush()
    request.session.cycle_key()
    request.session[_KEY] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),  # a new password ends this
        "until": time.time() + SECONDS_FOR_CODE,
        "next": next_url,
    }
    if has_app:
        return HttpResponseRedirect(reverse("admin:login_code"))
    second_factor.begin_set_up(user)
    return HttpResponseRedirect(reverse("admin:login_set_up"))


def half_signed_in(request: HttpRequest) -> User | None:
    """The user who has entered the password in this session, but no code yet."""
    state = request.session.get(_KEY)
    if state is None or not 0 < state["until"] - time.time() <= SECONDS_FOR_CODE:
        return None
    user = User.objects.filter(pk=state["user"], **CAN_SIGN_IN).first()
    if user and constant_time_compare(user.get_session_auth_hash(), state["hash"]):
        return user
    return None


def next_url(request: HttpRequest) -> str:
    """Where the user wanted to go; to be read before `complete`."""
    return str(request.session[_KEY]["next"])


def complete(
    request: HttpRequest, user: User, response: HttpResponse, device: Device | None = None
) -> HttpResponse:
    """Signs the user in, who may have used a device; returns the response with its cookie."""
    record(Action.LOGIN, by=user.get_username())
    request.session.pop(_KEY, None)
    login(request, user)
    if device is not None:
        django_otp.login(request, device)
    if not known_browser.knows(request, user):
        browser = f"Browser: {in_words(request.headers.get('User-Agent', ''))}"
        mails.tell_account(user, "A new browser has signed in", browser, by=user.get_username())
    known_browser.remember(response, user)
    return response
