"""Limits of failed attempts, and of passwords that are hashed at the same moment."""

import logging
from collections.abc import Callable
from functools import wraps
from threading import Semaphore
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django_ratelimit.core import get_usage

from config.request.context import client_info, current_request, network_of
from workspaces.accounts import known_browser

logger = logging.getLogger(__name__)


class Limit(NamedTuple):
    name: str
    attempts: int
    minutes: int = 5


ADDRESS = Limit("address", 50)  # an office shares an address
# Of an account, from all addresses together. Also at the border of two of these hours, nobody has
# more than 100 guesses within an hour.
ACCOUNT = Limit("account", 20, minutes=60)
BROWSER = Limit("browser", 15, minutes=60)  # all that have signed in to the account before
SIGNED_IN = Limit("signed-in user", 15, minutes=60)


class Attempt:
    """An attempt that counts if it fails, for its address first.

    The limits are checked before the password, so the response does not reveal whether it was
    right. Attempts that run at the same moment are all checked before one of them counts: a limit
    can be exceeded by one for each thread.

    Args:
        counters: what is limited besides the address, each by a value such as an account's login.
        address: the limit of the address.
    """

    def __init__(self, *counters: tuple[Limit, str], address: Limit = ADDRESS) -> None:
        sender, _ = client_info()
        self._counters = ((address, network_of(sender)), *counters)

    def check(self) -> None:
        """Raises ValidationError if no tries are left; that does not count as an attempt."""
        for limit, value in self._counters:
            usage = usage_of(limit, value, increment=False)
            if usage["count"] >= limit.attempts:
                logger.warning("Refused: too many attempts (%s)", limit.name)
                # `time_left` is 0 in the window's last second, and -1 just after it.
                raise too_many(max(1, usage["time_left"] + 1))

    def count(self) -> None:
        """The attempt has failed."""
        for limit, value in self._counters:
            usage_of(limit, value, increment=True)


def usage_of(limit: Limit, value: str, *, increment: bool) -> dict[str, int]:
    """Counts in Redis; in this process while Redis is out of reach (`config.cache`)."""
    usage: dict[str, int] = get_usage(
        current_request.get(),
        group=f"sign-in {limit.name}",
        key=lambda group, request: value,
        rate=f"{limit.attempts}/{limit.minutes}m",
        increment=increment,
    )
    return usage


def too_many(seconds: int) -> ValidationError:
    """The error for a form whose view `responds_429`."""
    request: Any = current_request.get()
    request.notes.headers["Retry-After"] = str(seconds)
    number, unit = (seconds, "second") if seconds < 60 else (-(-seconds // 60), "minute")
    return ValidationError(
        f"Wait {number} {unit}{'' if number == 1 else 's'}, then try again. This limits guessing."
    )


def responds_429(view: Callable[..., Any]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = view(request, *args, **kwargs)
        if "Retry-After" in request.notes.headers:  # type: ignore[attr-defined]
            response.status_code = 429
        return response

    return inner


_hashing = {"": Semaphore(1)}  # of strangers; of accounts, by id
LINE, WAIT_SECONDS = Semaphore(2), 1.0  # the threads that wait for a place, and for how long


def takes(place: Semaphore) -> bool:
    """At once, or after a moment in a line that is short."""
    if place.acquire(blocking=False):
        return True
    if not LINE.acquire(blocking=False):
        return False
    try:
        return place.acquire(timeout=WAIT_SECONDS)
    finally:
        LINE.release()


def takes_password(view: Any) -> Any:
    """For forms with a password: at most one of strangers is served at a time, and two may wait.

    An account's own browsers may send two, since people click twice. Nobody waits for the body of a
    refused form. The CSRF token is in the body, so it is checked here, not by the middleware.
    """
    checked = csrf_protect(responds_429(view))

    @csrf_exempt
    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST":
            return checked(request, *args, **kwargs)
        user = request.user
        who = str(user.pk) if user.is_authenticated else known_browser.account_in(request)
        place = _hashing.setdefault(who, Semaphore(2))
        if not takes(place):
            context = {"title": "Please try again in a few seconds"}
            response = render(request, "admin/busy.html", context, status=429)
            response["Retry-After"] = "2"
            return response
        try:
            return checked(request, *args, **kwargs)
        finally:
            place.release()

    return inner
