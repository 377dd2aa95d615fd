"""Before something sensitive, the password is asked for again if the sign-in is not recent.

`workspaces.accounts.sign_in` is the page that asks.
"""

import time
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from config.request.redaction import cut_raw_keys

RECENT_SECONDS = 15 * 60
_KEY = "password_entered_at"  # of the session: seconds since 1970


class PasswordNeeded(Exception):
    """The user must enter the password before this request is served."""


def recent_sign_in_required(request: HttpRequest) -> None:
    """Raises PasswordNeeded if the user has not entered the password within the last 15 minutes.

    Call it for GET, before a form is shown, and for POST. `asks_for_password` makes the response.
    """
    if not 0 <= time.time() - request.session.get(_KEY, 0) < RECENT_SECONDS:
        raise PasswordNeeded


def asks_for_password(view: Callable[..., Any]) -> Callable[..., Any]:
    """Redirects to the page that asks for the password, with a form that is posted too late."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return view(request, *args, **kwargs)
        except PasswordNeeded:
            query = urlencode({"next": cut_raw_keys(request.get_full_path())})
            url = f"{reverse('admin:confirm_password')}?{query}"
            return HttpResponseRedirect(url, preserve_request=True)

    return inner


@receiver(user_logged_in)
def entered(request: HttpRequest, **kwargs: Any) -> None:
    request.session[_KEY] = int(time.time())
