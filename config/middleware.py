"""Middleware: the request id and the access log, the limit of bodies, Django's for the admin."""

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import middleware as authentication
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponse
from django.middleware import csrf
from django.utils.deprecation import MiddlewareMixin
from django.utils.encoding import escape_uri_path

from config.database import page_limits
from config.error_pages import is_api, length_required, too_large
from config.logs import request_id
from config.request_context import current_request

logger = logging.getLogger("access")


class RequestIdMiddleware:
    """Gives the request an id, makes it the current request and writes the access log line.

    A client cannot choose the id: it could repeat one, and an audit entry must lead to exactly one
    request.
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
                escape_uri_path(request.path),  # prevents log injection
                response.status_code,
                (time.monotonic() - started) * 1000,
            )
            return response
        finally:
            current_request.reset(request_token)
            request_id.reset(token)


class BodyLimitMiddleware:
    """Refuses bodies that no form of the admin has, before anything reads them.

    A body that arrives slowly would keep its thread. The API reads no bodies at all.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_api(request):
            if "Transfer-Encoding" in request.headers:
                return length_required(request)
            length = int(request.META.get("CONTENT_LENGTH") or 0)
            is_upload = request.content_type == "multipart/form-data"
            if is_upload or length > (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
                return too_large(request)
        return self.get_response(request)


PAGES = "/admin/"  # the paths whose statements may take longer


class PageTimeouts:
    """Sets the time-outs of a page's statements. They are longer than those of the API."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PAGES):
            return self.get_response(request)
        with page_limits():
            return self.get_response(request)


def skip_for_api(middleware: type[MiddlewareMixin]) -> type[MiddlewareMixin]:
    """The middleware for all requests except those to the API.

    The API uses no cookies, so it has no session, user or messages. These middlewares would cost
    a fifth of a short response's time.
    """

    class Skipping(middleware):  # type: ignore[misc, valid-type]
        def __call__(self, request: HttpRequest) -> Any:
            if is_api(request):
                return self.get_response(request)
            return super().__call__(request)

    return Skipping


SessionMiddleware = skip_for_api(sessions.SessionMiddleware)
CsrfViewMiddleware = skip_for_api(csrf.CsrfViewMiddleware)
AuthenticationMiddleware = skip_for_api(authentication.AuthenticationMiddleware)
MessageMiddleware = skip_for_api(messages.MessageMiddleware)
