"""The pages for 403 and 404: the same for every cause, so that they do not reveal what exists."""

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache


@never_cache
def render_error(request: HttpRequest, template: str, status: int) -> HttpResponse:
    """Inside the admin, the page has the admin's header."""
    inside = request.path.startswith(reverse("admin:index")) and site.has_permission(request)
    return render(request, template, site.each_context(request) if inside else {}, status=status)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render_error(request, "403.html", 403)
