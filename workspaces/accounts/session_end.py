"""When a session ends: if it is not used for a while, and a working day after the sign-in.

Django ends a session at the moment that `set_expiry` has stored. That moment is moved while the
session is used, and stored at most once a minute, so a page seldom writes.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from config.runtime.request_context import note

STORED_EVERY = timedelta(minutes=1)
SIGNED_IN_AT = "signed_in_at"  # of the session: seconds since 1970


@receiver(user_logged_in)
def begin(request: HttpRequest, **kwargs: Any) -> None:
    """The user has just signed in."""
    request.session[SIGNED_IN_AT] = int(timezone.now().timestamp())
    move_end(request.session)


def move_end(session: SessionBase) -> None:
    """The session has just been used."""
    now = timezone.now()
    # A session of a release that did not store this begins with its first request to this one.
    age = now.timestamp() - session.setdefault(SIGNED_IN_AT, int(now.timestamp()))
    left = min(settings.SESSION_COOKIE_AGE - age, settings.SESSION_IDLE_MINUTES * 60)
    end = now + timedelta(seconds=left)
    if abs(end - session.get_expiry_date()) >= STORED_EVERY:
        session.set_expiry(end)


class SessionEndMiddleware:
    """Moves the end of a signed-in user's session, and names the user in the access log.

    Pages that have not read the session have no user.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.session.accessed and SESSION_KEY in request.session:
            move_end(request.session)
            note(user=request.session[SESSION_KEY])
        return response
