"""E-mails to a user: a browser has signed in for the first time, the address was changed."""

from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from config.console.base import request_user
from config.console.formatting import exact
from config.runtime.request_context import base_url, client_info
from workspaces.mails import queue as mail


def new_browser(request: HttpRequest, user: User) -> None:
    """To the user who has just signed in. Without a mail server nothing is sent."""
    address, user_agent = client_info()
    context = {
        "address": address,
        "user_agent": user_agent,
        "url": base_url(request) + reverse("admin:security"),
    }
    subject = "A new browser has signed in"
    _send(request, subject, "new_browser", user.get_username(), address_of(user), context)


def email_changed(request: HttpRequest, login: str, to: str) -> None:
    """To the former address of the account `login`."""
    context = {
        "by": request_user(request).get_username(),
        "support_email": settings.SUPPORT_EMAIL,
    }
    subject = "The e-mail address of your account was changed"
    _send(request, subject, "email_changed", login, to, context)


def _send(
    request: HttpRequest, subject: str, name: str, login: str, to: str, context: dict[str, str]
) -> None:
    if to:
        host, when = urlsplit(base_url(request)).netloc, exact(timezone.now())
        context |= {"login": login, "host": host, "when": when}
        mail.send(subject, f"registration/{name}_email.txt", context, to)


def address_of(user: User) -> str:
    """Where the user reads e-mails: most logins are addresses; "" if nothing is one."""
    for text in (user.email, user.username):
        try:
            validate_email(text)
        except ValidationError:
            continue
        return text
    return ""
