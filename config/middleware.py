"""Each request's id and address, and what is for people alone."""

import logging
import time
import uuid
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth import middleware as authentication
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponse
from django.middleware import csrf
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import escape_uri_path

from config.logs import request_id

logger = logging.getLogger("access")


class RequestIdMiddleware:
    """Gives the request its id and writes the access log's line.

    The id is always made here: one sent by a client could repeat, and an audit entry must lead
    to one request only.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        token = request_id.set(uuid.uuid4().hex)
        try:
            response = self.get_response(request)
            response["Request-Id"] = request_id.get()
            logger.info(
                "%s %s %d %.1f ms",
                request.method,
                escape_uri_path(request.path),  # a line end in it would forge a line
                response.status_code,
                (time.monotonic() - started) * 1000,
            )
            return response
        finally:
            request_id.reset(token)


class ForPeople(MiddlewareMixin):
    """Makes a middleware one for people: requests to the API go past it.

    The API knows no cookies, so no session, no person and no message: one that a client sends
    changes nothing. What these middlewares do for each request is a fifth of what a short answer
    costs.
    """

    def __call__(self, request: HttpRequest) -> Any:
        if request.path.startswith("/api/"):
            return self.get_response(request)
        return super().__call__(request)


class SessionMiddleware(ForPeople, sessions.SessionMiddleware):
    """Django's."""


class CsrfViewMiddleware(ForPeople, csrf.CsrfViewMiddleware):
    """Django's; it leaves alone what DRF has marked as exempt, which is all of the API."""


class AuthenticationMiddleware(ForPeople, authentication.AuthenticationMiddleware):
    """Django's."""


class MessageMiddleware(ForPeople, messages.MessageMiddleware):
    """Django's."""


def client_address(request: HttpRequest) -> str:
    """The address the request came from, as text; "" when the server does not know it.

    Each trusted proxy appends the address it was called from to `X-Forwarded-For`; what stands
    further left was written by the client and proves nothing.
    """
    direct: str = request.META.get("REMOTE_ADDR", "")
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.TRUSTED_PROXIES or len(hops) < settings.TRUSTED_PROXIES:
        return direct
    try:
        return str(ip_address(hops[-settings.TRUSTED_PROXIES].strip()))
    except ValueError:
        return direct
