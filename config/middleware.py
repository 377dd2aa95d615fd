"""Each request's id, who sent it, and what is for people alone."""

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib.auth import middleware as authentication
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponse
from django.middleware import csrf
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import escape_uri_path

from config.logs import request_id
from config.request_context import current_request

logger = logging.getLogger("access")


class RequestIdMiddleware:
    """Gives the request its id, makes it the current one and writes the access log's line.

    The id is always made here: one sent by a client could repeat, and an audit entry must lead
    to one request only.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        token = request_id.set(uuid.uuid4().hex)
        request_token = current_request.set(request)
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
            current_request.reset(request_token)
            request_id.reset(token)


class SkipForApi(MiddlewareMixin):
    """Makes a middleware one for people: requests to the API go past it.

    The API knows no cookies, so no session, no person and no message: one that a client sends
    changes nothing. What these middlewares do for each request is a fifth of what a short answer
    costs.
    """

    def __call__(self, request: HttpRequest) -> Any:
        if request.path.startswith("/api/"):
            return self.get_response(request)
        return super().__call__(request)


class SessionMiddleware(SkipForApi, sessions.SessionMiddleware):
    """Django's."""


class CsrfViewMiddleware(SkipForApi, csrf.CsrfViewMiddleware):
    """Django's; it leaves alone what DRF has marked as exempt, which is all of the API."""


class AuthenticationMiddleware(SkipForApi, authentication.AuthenticationMiddleware):
    """Django's."""


class MessageMiddleware(SkipForApi, messages.MessageMiddleware):
    """Django's."""
