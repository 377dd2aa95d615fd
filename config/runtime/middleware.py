"""Middleware: the request id, the access log, the API's way past the rest, the limit of bodies."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.security import SecurityMiddleware
from django.urls import Resolver404, resolve
from django.utils.encoding import escape_uri_path

from config.error_pages import body_refused, is_api
from config.runtime import health, metrics
from config.runtime.admission import AdmissionMiddleware, is_api_version
from config.runtime.database import page_limits
from config.runtime.logs import redact_sent, request_id
from config.runtime.request_context import (
    Notes,
    client_address,
    current_request,
    new_request_id,
)

logger = logging.getLogger("access")

GetResponse = Callable[[HttpRequest], HttpResponse]


class RequestIdMiddleware:
    """Gives the request an id, makes it the current request, and logs and counts its response.

    A client cannot choose the id: it could repeat one, and an audit entry must lead to exactly one
    request.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        request.notes = notes = Notes()  # type: ignore[attr-defined]
        id = new_request_id()
        request_token, id_token = current_request.set(request), request_id.set(id)
        try:
            response = self.get_response(request)
            response["Request-Id"] = id
            if response.status_code == 304 and response.get("Content-Length") == "0":
                # From Django's CommonMiddleware; it would be the length of the 200's body.
                del response["Content-Length"]
            record(request, response, notes, time.monotonic() - started)
            return response
        finally:
            current_request.reset(request_token)
            request_id.reset(id_token)


def record(request: HttpRequest, response: HttpResponse, notes: Notes, seconds: float) -> None:
    """Writes the access log's line, and counts the request."""
    method = request.method or ""
    route = route_of(request)
    metrics.observe_request(method, route, response.status_code, seconds)
    if response.status_code == 503:
        metrics.UNAVAILABLE.labels(notes.get("cause") or "other").inc()
    fields = {
        "method": method,
        "route": route,
        "path": redact_sent(escape_uri_path(request.path)),  # prevents log injection
        "status": response.status_code,
        "milliseconds": round(seconds * 1000, 1),
        "bytes": body_length(method, response),
        "key_prefix": None,
        "workspace_id": None,
        "client_address": client_address(request),
        "user_agent": redact_sent(request.META.get("HTTP_USER_AGENT", "")) or None,
        "reason": None,
        **notes,
    }
    logger.info(
        "%(method)s %(path)s %(status)d %(milliseconds).1f ms", fields, extra={"fields": fields}
    )


def route_of(request: HttpRequest) -> str:
    """The URL pattern that the path matches; "other" if it is unknown."""
    match = request.resolver_match
    if match is None:
        if request.path in health.PATHS:
            return request.path
        try:
            match = resolve(request.path_info)  # refused before its view was looked for
        except Resolver404:
            return "other"
    return "other" if "(?P<" in match.route else f"/{match.route}"  # regexes match what is unknown


def body_length(method: str, response: HttpResponse) -> int | None:
    """Bytes of the body that the response is about to have; None if that is not known."""
    if method == "HEAD" or response.status_code in (204, 304):
        return 0
    length = response.get("Content-Length")
    return int(length) if length else None


class ApiMiddleware:
    """Handles requests to the API: none of the middlewares after this one sees them.

    The API has no cookies, users, messages, forms or redirects. Its responses have the same
    security headers as pages.
    """

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self._security = SecurityMiddleware(get_response)
        self._frames = XFrameOptionsMiddleware(get_response)
        self._respond = convert_exception_to_response(AdmissionMiddleware(self._call_view))

    def __call__(self, request: HttpRequest) -> Any:
        if not is_api_version(request.path):
            return self.get_response(request)
        response: Any = self._respond(request)
        self._security.process_response(request, response)
        self._frames.process_response(request, response)
        if response.status_code != 304 and not (response.streaming or "Content-Length" in response):
            response["Content-Length"] = str(len(response.content))
        return response

    @staticmethod
    def _call_view(request: HttpRequest) -> HttpResponseBase:
        request.get_host()  # raises what becomes a 400 if the host is not one of ours
        match = request.resolver_match = resolve(request.path_info)
        response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
        return response


def body_limit(get_response: GetResponse) -> GetResponse:
    """Refuses bodies that no form of the admin has, before anything reads them.

    A body that arrives slowly would keep its thread. The API reads no bodies at all.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if not is_api(request):
            if "Transfer-Encoding" in request.headers:
                return body_refused(request, 411)
            length = int(request.META.get("CONTENT_LENGTH") or 0)
            is_upload = request.content_type == "multipart/form-data"
            if is_upload or length > (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
                return body_refused(request, 413)
        return get_response(request)

    return middleware


def page_timeouts(get_response: GetResponse) -> GetResponse:
    """Sets the time-outs of a page's statements. They are longer than those of the API."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/admin/"):
            return get_response(request)
        with page_limits():
            return get_response(request)

    return middleware
