"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

from django.contrib.admin import site
from django.contrib.auth.decorators import permission_required
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config import health
from config.console.formatting import Bad, clock_tag, code_spans

RUNNING = "<span data-live>The checks are running.</span> Until they end, errors are those of {}."
FILES = "documents' files"
NO_FILES = "The service cannot reach its documents’ files at present. You need not do anything."


def lines(checks: health.Checks, *, for_operators: bool = True) -> list[SafeString]:
    """HTML: the errors; for operators also warnings, and what to do about each."""
    found = [format_html(RUNNING, clock_tag(checks.at))] if checks.running else []
    shown = [each for each in checks.problems if for_operators or each.is_serious()]
    hint = None if for_operators else "An operator has to act."
    return found + [line(each, hint) for each in shown]


def line(found: CheckMessage, hint: str | None = None) -> SafeString:
    """HTML: what is wrong, and what to do about it."""
    part = capfirst(found.obj or "settings")  # of Django's own checks
    hint = hint or found.hint or ""
    text = format_html("<b>{}: {}</b> {}", part, code_spans(found.msg), code_spans(hint))
    return Bad(text) if found.is_serious() else text


def for_admins(checks: health.Checks) -> dict[str, list[str]]:
    """Of what concerns them, and none of their sections looks at: HTML for what is wrong."""
    wrong: list[str] = [Bad(NO_FILES) for each in checks.problems if each.obj == FILES]
    return {FILES: wrong[:1]} if wrong or FILES in checks.well else {}


@permission_required("config.view_system", raise_exception=True)  # a superuser has all of them
def page(request: HttpRequest) -> HttpResponse:
    checks = health.checks()
    context = {"title": "System", "checks": checks, "lines": lines(checks)}
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
