"""The pages for 403 and 404."""

from typing import Any

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache


@never_cache
def render_error(request: HttpRequest, template: str, status: int) -> HttpResponse:
    """The same page for every cause; inside the admin it has the admin's header.

    It contains nothing of the request, so that it does not reveal what exists.
    """
    # Middleware refuses a request before it has a user.
    inside = request.path.startswith(reverse("admin:index")) and hasattr(request, "user")
    inside = inside and site.has_permission(request)
    context: dict[str, Any] = site.each_context(request) if inside else {}
    return render(request, template, context, status=status)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: the user may not do this."""
    return render_error(request, "403.html", 403)


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form without its CSRF token."""
    return render_error(request, "403_csrf.html", 403)
