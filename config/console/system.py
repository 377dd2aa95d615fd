"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

from datetime import timedelta

from django.contrib.admin import site
from django.contrib.auth.decorators import permission_required
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config import health
from config.console.formatting import Bad, code_spans

LONGEST_SECONDS = 10.0  # that the page waits for the checks


def line(problem: CheckMessage, *, with_hint: bool = True) -> SafeString:
    """HTML: what is wrong, and what an operator can do about it."""
    text = format_html(
        '<b>{}</b> {} <span class="quiet">{}</span>',
        problem.msg,
        code_spans(problem.hint or "") if with_hint else "",
        problem.id or "",
    )
    return Bad(text) if problem.is_serious() else text


@permission_required("config.view_system", raise_exception=True)  # a superuser has all of them
def page(request: HttpRequest) -> HttpResponse:
    checks = health.checks(timedelta(0), LONGEST_SECONDS)
    lines = [line(each) for each in checks.problems] if checks else []
    context = {"title": "System", "checks": checks, "lines": lines}
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
