"""The page System: what `manage.py check --deploy --database default` finds, problems first."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.contrib.admin import site
from django.contrib.auth.decorators import permission_required
from django.core.checks import WARNING, Tags, run_checks
from django.db import DEFAULT_DB_ALIAS, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.checks import SECONDS
from config.console.formatting import Bad
from config.console.time_outs import part_limits

logger = logging.getLogger(__name__)

KEPT = timedelta(minutes=1)  # for the start page
WAIT_SECONDS, LONGEST_SECONDS = 1.0, 10.0  # that the start page waits for the checks, and System

_thread = ThreadPoolExecutor(1, "checks")  # the only one that waits for a silent service
_last: "Future[Checks] | None" = None


class Checks(NamedTuple):
    """What the checks have found since `at`, errors first. The problems are HTML."""

    at: datetime
    problems: list[SafeString]
    facts: list[str]


def checks(kept: timedelta, seconds: float) -> Checks | None:
    """A result that is not older than `kept`; None if no new one is there after so many seconds."""
    global _last
    if _last is None or _last.done() and timezone.now() - _last.result().at > kept:
        _last = _thread.submit(_run)
    last = _last
    wait([last], seconds)
    return last.result() if last.done() else None


def _run() -> Checks:
    """A laptop's variables are as `make run` sets them, so nothing is said of them."""
    at = timezone.now()
    try:
        with part_limits(SECONDS):
            tags = [Tags.database] if settings.MAILBOX else None
            found = run_checks(None, tags, True, [DEFAULT_DB_ALIAS])
    except Exception:
        logger.exception("The checks have failed")
        return Checks(at, [Bad("The checks themselves have failed. The log says why.")], [])
    finally:
        connection.close()
    problems, facts = [], []
    for each in sorted(found, key=lambda each: -each.level):
        text = format_html(
            '{} <span class="quiet">{} ({})</span>', each.msg, each.hint or "", each.id
        )
        if each.level < WARNING:
            facts.append(each.msg)
        elif not each.is_silenced():
            problems.append(Bad(text) if each.is_serious() else text)
    return Checks(at, problems, facts)


@permission_required("config.view_system", raise_exception=True)  # a superuser has all of them
def page(request: HttpRequest) -> HttpResponse:
    context = {"title": "System", "checks": checks(timedelta(0), LONGEST_SECONDS)}
    return render(request, "admin/system/page.html", {**site.each_context(request), **context})
