"""The page for operators."""

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from config.console import system
from config.console.base import request_user


def page(request: HttpRequest) -> HttpResponse:
    """All facts."""
    user = request_user(request)
    if not (user.is_active and user.is_superuser):
        raise PermissionDenied
    context = {**site.each_context(request), "title": "System", "parts": system.parts()}
    return render(request, "admin/system/page.html", context)


def panel() -> SafeString:
    """What is not as it should be, for the start page of operators."""
    return render_to_string("admin/system/panel.html", {"problems": system.problems()})
