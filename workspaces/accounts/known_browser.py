"""A cookie that shows that a browser has signed in to an account before.

Somebody who fails to sign in on purpose uses up the account's limit, but not that of such a
browser, so nobody can lock the account's user out (OWASP: "Slow Down Online Guessing Attacks with
Device Cookies"). The cookie is signed, so the database is not asked for its owner.
"""

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.console.base import set_cookie

COOKIE = "known_browser"
MAX_AGE = 365 * 24 * 60 * 60  # seconds after the last sign-in


def remember(response: HttpResponseBase, user: User) -> None:
    value = f"{user.pk}-{user.get_session_auth_hash()}"
    set_cookie(response, COOKIE, value, max_age=MAX_AGE, httponly=True)


def account_in(request: HttpRequest) -> str:
    """The id of the account that the browser has signed in to; "" if it has to none."""
    return (request.get_signed_cookie(COOKIE, "", max_age=MAX_AGE) or "").partition("-")[0]


def knows(request: HttpRequest, user: User) -> bool:
    """Whether the browser has signed in to the user's account; a new password ends that."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    value = request.get_signed_cookie(COOKIE, "", max_age=MAX_AGE)
    return value in [f"{user.pk}-{each}" for each in hashes]
