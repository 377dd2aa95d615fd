"""Django's error handlers: JSON under /api/ and in the API's process, pages elsewhere."""

import sys

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views import defaults
from django.views.decorators.cache import never_cache

from config.api.errors import InvalidRequest, PathNotFound, ServerError, Unavailable
from config.api.exceptions import as_api_error, error_response

HOST_LENGTH = 100  # characters of a foreign host's name that an error quotes


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: Django cannot read the request, or the host is not one of ours."""
    text = None
    if isinstance(exception, DisallowedHost):
        text = "The request has no Host header."
        if sent := request.META.get("HTTP_HOST"):
            host = ascii(sent[:HOST_LENGTH])
            text = (
                f"This service has no host {host}: check the name in the URL, or the Host header."
            )
    if _gets_json(request):
        return error_response(request, InvalidRequest(text, reason=str(exception)))
    if text:
        return HttpResponse(text, status=400, content_type="text/plain")
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _gets_json(request):
        return error_response(request, PathNotFound())
    return _page(request, "404.html", 404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "403.html", 403)


@never_cache
def _page(request: HttpRequest, template: str, status: int) -> HttpResponse:
    """The same for every cause, so that it does not reveal what exists.

    Inside the admin, the page has the admin's header.
    """
    from django.contrib.admin import site  # noqa: PLC0415 - the API's process has no pages

    inside = request.path.startswith(reverse("admin:index")) and site.has_permission(request)
    return render(request, template, site.each_context(request) if inside else {}, status=status)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: an unexpected error; 503 if the database is out of reach."""
    # Django calls this while it handles the exception.
    error = as_api_error(sys.exception() or ServerError())
    if _gets_json(request):
        return error_response(request, error)
    request.notes.error = error  # type: ignore[attr-defined]
    html = render_to_string([f"{error.status_code}.html", "500.html"])
    response = HttpResponse(html, status=error.status_code)
    if isinstance(error, Unavailable):
        response["Retry-After"] = error.headers["Retry-After"]
    return response


def _gets_json(request: HttpRequest) -> bool:
    """Also with a doubled slash, or capital letters."""
    path = f"/{request.path.lstrip('/').lower()}/"
    return path.startswith("/api/") or not settings.SERVES_PAGES
