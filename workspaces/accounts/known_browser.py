"""A cookie that shows that a browser has signed in to an account before.

Somebody who fails to sign in on purpose uses up the account's limit, but not that of such a
browser, so nobody can lock the account's user out (OWASP: "Slow Down Online Guessing Attacks with
Device Cookies"). The cookie is signed: to whom it belongs is known without the database.
"""

from django.conf import settings
from django.contrib.auth.models import User
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

COOKIE = "known_browser"
MAX_AGE = 365 * 24 * 60 * 60  # seconds after the last sign-in


def remember(response: HttpResponseBase, user: User) -> None:
    """Sets the cookie: the user has just signed in, or has a new password."""
    response.set_cookie(
        COOKIE,
        signer().sign(f"{user.pk}-{user.get_session_auth_hash()}"),
        max_age=MAX_AGE,
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def account_in(request: HttpRequest) -> str:
    """The id of the account that the browser has signed in to; "" if it has to none."""
    return _value(request).partition("-")[0]


def knows(request: HttpRequest, user: User) -> bool:
    """Whether the browser has signed in to the user's account; a new password ends that."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    return _value(request) in [f"{user.pk}-{each}" for each in hashes]


def _value(request: HttpRequest) -> str:
    try:
        return signer().unsign(request.COOKIES.get(COOKIE, ""), MAX_AGE)
    except BadSignature:
        return ""


def signer() -> TimestampSigner:
    return TimestampSigner(salt="known browser")
