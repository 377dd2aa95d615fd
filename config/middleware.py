"""Each request's id, its address, and no cookies for the API."""

import logging
import time
import uuid
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
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


class CookielessApiMiddleware:
    """The API knows no cookies: one that a client sends must not change an answer's headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/api/"):
            request.META.pop("HTTP_COOKIE", None)
        return self.get_response(request)


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
