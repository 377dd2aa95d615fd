"""E-mails to a user about the account."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from config.console.base import request_user
from config.console.formatting import exact
from config.request_context import base_url, client_info
from workspaces import mails


def send(request: HttpRequest, subject: str, name: str, login: str, to: str) -> None:
    """Adds an e-mail about the account `login`, with what is known of the request."""
    address, user_agent = client_info()
    context = {
        "login": login,
        "by": request_user(request).get_username(),
        "when": exact(timezone.now()),
        "host": urlsplit(base_url(request)).netloc,
        "address": address,
        "user_agent": user_agent,
        "url": base_url(request) + reverse("admin:security"),
        "support_email": settings.SUPPORT_EMAIL,
    }
    mails.send(subject, f"registration/{name}_email.txt", context, to)
