"""Before something sensitive, the password is asked for again if the sign-in is not recent."""

import time
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.request.redaction import cut_raw_keys

RECENT_SECONDS = 15 * 60
_KEY = "password_entered_at"  # of the session: seconds since 1970


def password_needed(request: HttpRequest) -> HttpResponse | None:
    """A redirect to the page that asks for the password, if it was not entered in 15 minutes.

    Call it for GET, before a form is shown, and for POST: a form that is posted too late is kept.
    """
    if 0 <= time.time() - request.session.get(_KEY, 0) < RECENT_SECONDS:
        return None
    url = reverse("admin:confirm_password", query={"next": cut_raw_keys(request.get_full_path())})
    return HttpResponseRedirect(url, preserve_request=True)


@receiver(user_logged_in)
def entered(request: HttpRequest, **kwargs: Any) -> None:
    request.session[_KEY] = int(time.time())
