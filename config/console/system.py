"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

import re

from django.conf import settings
from django.contrib.admin import site
from django.core.checks import CheckMessage, Info, Tags, run_checks
from django.core.exceptions import PermissionDenied
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.checks import QUICK
from config.console.formatting import Bad


def findings(*tags: str) -> list[CheckMessage]:
    """What the checks find, errors first; a laptop's variables are as `make run` sets them."""
    if settings.MAILBOX:
        tags = tags or (Tags.database,)
    found = run_checks(None, tags or None, True, [DEFAULT_DB_ALIAS])
    for each in found:
        if settings.MAILBOX and re.search(r"systemctl|journalctl|deploy/", each.hint or ""):
            each.hint = "Stop make run with Ctrl-C and start it again."
    return sorted((e for e in found if not e.is_silenced()), key=lambda e: (-e.level, e.id or ""))


def warnings() -> list[SafeString]:
    """For operators' start page: the problems that PostgreSQL alone can tell."""
    url = reverse("system")
    text = '<a href="{}">System</a>: {} {}'
    found = [each for each in findings(QUICK) if each.level > Info("").level]
    return [
        (Bad if each.is_serious() else SafeString)(format_html(text, url, each.msg, each.hint))
        for each in found
    ]


def page(request: HttpRequest) -> HttpResponse:
    """All findings."""
    if not (request.user.is_active and request.user.is_superuser):
        raise PermissionDenied
    found = findings()
    context = {
        "title": "System",
        "problems": [each for each in found if each.level > Info("").level],
        "facts": [each for each in found if each.level <= Info("").level],
    }
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
