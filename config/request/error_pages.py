"""Django's error handlers: JSON under /api/, pages elsewhere."""

import sys
from typing import Any

from django.conf import settings
from django.contrib.admin import site
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views import defaults
from django.views.decorators.cache import never_cache

from config.api.errors import ApiError, InvalidRequest, PathNotFound, ServerError
from config.api.exceptions import as_api_error, error_response
from config.console.site import with_csp

HOST_LENGTH = 100  # characters of a foreign host's name that an error quotes


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: Django cannot read the request, or the host is not one of ours."""
    text = _unknown_host(request) if isinstance(exception, DisallowedHost) else None
    if is_api(request):
        error = InvalidRequest(text)
        error.reason = str(exception)
        return error_response(request, error)
    if text:
        return HttpResponse(text, status=400, content_type="text/plain")
    return defaults.bad_request(request, exception)


def _unknown_host(request: HttpRequest) -> str:
    host = request.META.get("HTTP_HOST")
    if not host:
        return "The request has no Host header."
    shown = ascii(host[:HOST_LENGTH])[1:-1]
    return f"This service has no host '{shown}': check the name in the URL, or the Host header."


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the user may not do this."""
    return _page(request, "403.html", 403)


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form without its CSRF token."""
    return _page(request, "403_csrf.html", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: no such URL, or no such object for this user."""
    if is_api(request):
        return error_response(request, PathNotFound())
    return _page(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: an unexpected error; 503 if the database is out of reach."""
    # Django calls this while it handles the exception.
    error = as_api_error(sys.exception() or ServerError())
    return _failed(request, error)


def _failed(request: HttpRequest, error: ApiError) -> HttpResponse:
    if is_api(request):
        return error_response(request, error)
    request.notes.error = error  # type: ignore[attr-defined]
    response: HttpResponse = defaults.server_error(request)
    response.status_code = error.status_code
    for name, value in error.headers.items():
        response[name] = value
    return response


def is_api(request: HttpRequest) -> bool:
    """Whether the request gets JSON: also with a doubled slash, or capital letters; always in the
    API's process (`config.api_settings`), which lacks what pages need."""
    path = f"/{request.path.lstrip('/').lower()}/"
    return path.startswith("/api/") or settings.API_ONLY


@with_csp
@never_cache
def _page(request: HttpRequest, template: str, status: int) -> HttpResponse:
    """The same page for every cause; inside the admin it has the admin's header.

    It contains nothing of the request, so that it does not reveal what exists.
    """
    # Middleware refuses a request before it has a user.
    inside = request.path.startswith(reverse("admin:index")) and hasattr(request, "user")
    inside = inside and site.has_permission(request)
    context: dict[str, Any] = site.each_context(request) if inside else {}
    return render(request, template, context, status=status)
