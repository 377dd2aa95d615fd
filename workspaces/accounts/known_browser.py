"""A cookie that shows that a browser has signed in to an account before.

Somebody who fails to sign in on purpose uses up the account's limit, but not that of such a
browser, so nobody can lock the account's user out (OWASP: "Slow Down Online Guessing Attacks with
Device Cookies").
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
        _signer(user).sign(str(user.pk)),
        max_age=MAX_AGE,
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def cookie_of(request: HttpRequest, user: User) -> str:
    """The cookie, if it is this user's and the password is still the same; otherwise ""."""
    cookie = request.COOKIES.get(COOKIE, "")
    try:
        return cookie if _signer(user).unsign(cookie, MAX_AGE) == str(user.pk) else ""
    except BadSignature:
        return ""


def _signer(user: User) -> TimestampSigner:
    """The password's hash is part of the key, so a new password ends all cookies."""
    return TimestampSigner(salt=f"known browser {user.password}")
