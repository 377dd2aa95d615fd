"""An e-mail to the user when a browser signs in to the account for the first time."""

from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from config import mail
from config.admin.formatting import exact
from config.request_context import base_url, client_info


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


def address_of(user: User) -> str:
    """Where the user reads e-mails: most logins are addresses; "" if nothing is one."""
    for text in (user.email, user.username):
        try:
            validate_email(text)
        except ValidationError:
            continue
        return text
    return ""
