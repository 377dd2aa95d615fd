"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

from django.conf import settings
from django.contrib.admin import site
from django.contrib.auth.decorators import permission_required
from django.core.checks import WARNING, Tags, run_checks
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from config.checks import SECONDS
from config.database import part_limits


@permission_required("config.view_system", raise_exception=True)  # a superuser has all of them
def page(request: HttpRequest) -> HttpResponse:
    """All findings, errors first; a laptop's variables are as `make run` sets them."""
    with part_limits(SECONDS):
        tags = [Tags.database] if settings.MAILBOX else None
        found = run_checks(None, tags, True, [DEFAULT_DB_ALIAS])
    found = sorted((each for each in found if not each.is_silenced()), key=lambda e: -e.level)
    context = {
        "title": "System",
        "problems": [each for each in found if each.level >= WARNING],
        "facts": [each for each in found if each.level < WARNING],
    }
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
