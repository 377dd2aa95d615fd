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
    """Tells the user who has just signed in. Without a mail server nothing is sent."""
    address, user_agent = client_info()
    to = address_of(user)
    if to:
        context = {
            "login": user.get_username(),
            "host": urlsplit(base_url(request)).netloc,
            "when": exact(timezone.now()),
            "address": address,
            "user_agent": user_agent,
            "url": base_url(request) + reverse("admin:security"),
        }
        mail.send("A new browser has signed in", "registration/new_browser_email.txt", context, to)


def email_changed(request: HttpRequest, login: str, to: str) -> None:
    """Tells the former address of the account `login` that it is not the account's any more."""
    context = {
        "login": login,
        "host": urlsplit(base_url(request)).netloc,
        "when": exact(timezone.now()),
        "by": request_user(request).get_username(),
        "support_email": settings.SUPPORT_EMAIL,
    }
    subject = "The e-mail address of your account was changed"
    template = "registration/email_changed_email.txt"
    if to:
        mail.send(subject, template, context, to)


def address_of(user: User) -> str:
    """Where the user reads e-mails: most logins are addresses; "" if nothing is one."""
    for text in (user.email, user.username):
        try:
            validate_email(text)
        except ValidationError:
            continue
        return text
    return ""
