"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

from django.contrib.admin import site
from django.contrib.auth.decorators import permission_required
from django.core.checks import CheckMessage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.text import capfirst

from config import health
from config.console.formatting import Bad, code_spans

FILES = "documents' files"  # of all parts, admins read of this one


def lines(problems: list[CheckMessage], *, for_operators: bool = True) -> list[str]:
    """HTML: the errors; for operators also warnings, and what to do about each."""
    found: list[str] = []
    for each in problems:
        if for_operators or each.is_serious():
            part = capfirst(each.obj or "settings")  # of Django's own checks
            hint = "An operator has to act."
            if for_operators:
                hint = each.hint or ""
            line = format_html("<b>{}: {}</b> {}", part, code_spans(each.msg), code_spans(hint))
            found.append(Bad(line) if each.is_serious() else line)
    return found


@permission_required("config.view_system", raise_exception=True)  # a superuser has all of them
def page(request: HttpRequest) -> HttpResponse:
    checks = health.checks()
    context = {"title": "System", "checks": checks, "lines": lines(checks.problems)}
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
