"""`/healthz`: the process serves. `/readyz`: what it needs works. And the checks' last result.

`/readyz` asks some of the system checks; the start page and System show all. These paths and
`/metrics` are for load balancers and monitoring: they need no key, and depend on no Host header.
The response names no cause, since anybody may read it; the log does.
"""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from django.conf import settings
from django.core.checks import INFO, WARNING, CheckMessage, Error, Tags, run_checks
from django.db import DEFAULT_DB_ALIAS, connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from config.api.responses import json_response
from config.checks import FILES, LOST, SECONDS, asked
from config.connections import part_limits

logger = logging.getLogger(__name__)

KEPT = timedelta(seconds=15)  # what the checks have found, for pages
WAIT_SECONDS = 3.0  # from the beginning of the checks, for which pages wait for their end
FAILED = "checks"  # in place of a part, if they have failed themselves

# The system checks of a part have the tag "readyz" and its name. They run one after the other.
# Without the database it does not serve; without the others it serves less.
PARTS = ("database", "audit_log", "counter", "object_storage")
DEADLINE_SECONDS = 1.8  # for all parts together
CACHE_SECONDS = 1.0  # so that requests to /readyz put no load on the parts

_thread = ThreadPoolExecutor(1, "readyz")  # the only one that waits for a silent part
_check: Future[None] | None = None  # that runs, or the last one
_found: dict[str, str] = {}  # by part; the check fills it in
_result = dict.fromkeys(PARTS, "unknown")  # what the last request that waited has seen
_expires = 0.0  # on the monotonic clock
_waiting = Lock()


def _check_parts(states: dict[str, str]) -> None:
    for part in PARTS:
        states[part] = "failed"  # until it responds
        # A new connection may take longer than the deadline, where a first host is dead.
        if part == "database" and connection.connection and not connection.is_usable():
            connection.close()
        found = run_checks(None, [f"readyz {part}"], True, [DEFAULT_DB_ALIAS])
        if any(each.is_serious() for each in found):
            logger.error("Not ready: %s: %s", part, " ".join(each.msg for each in found))
        else:
            states[part] = "ok"


@csrf_exempt  # a 405, also where pages are served
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return json_response({"status": "ok"})


@csrf_exempt
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """`/readyz`: 503 if it cannot serve; `degraded` if it can, with less.

    One request at a time waits for a check. The others get the last result, so that they hold no
    thread that serves.
    """
    global _check, _expires, _found, _result
    if time.monotonic() > _expires and _waiting.acquire(blocking=False):
        try:
            if _check is None or _check.done():
                _found = dict.fromkeys(PARTS, "unknown")
                _check = _thread.submit(_check_parts, _found)
            wait([_check], DEADLINE_SECONDS)
            if not _check.done():
                silent = ", ".join(part for part in PARTS if _found[part] == "failed")
                logger.error("Not ready: %s: there has been no response", silent)
            _result, _expires = dict(_found), time.monotonic() + CACHE_SECONDS
        finally:
            _waiting.release()
    states = _result
    failed = [part for part in PARTS if states[part] != "ok"]
    status = "failed" if "database" in failed else "degraded" if failed else "ok"
    code = 503 if status == "failed" else 200
    return json_response({"status": status, "checks": states}, code)


@csrf_exempt
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


# --- All checks, for pages


class Checks(NamedTuple):
    """What the checks have found since `at`."""

    at: datetime
    problems: list[CheckMessage]  # errors first
    facts: list[CheckMessage]  # by the part of the installation, such as "database"
    well: list[str]  # the parts that were looked at, and have no problem
    running: bool = False  # a newer result is not there yet

    def of(self, *parts: str) -> "Checks":
        """Only what concerns these parts, but no lost file, or says that the checks have failed."""
        problems = [
            each for each in self.problems if each.obj in {*parts, FAILED} and each.id != LOST
        ]
        return self._replace(problems=problems, well=[each for each in self.well if each in parts])


_checks_thread = ThreadPoolExecutor(1, "checks")  # the only one that waits for a silent service
_NAME = "checks_0"  # that it gives its thread
_last: Future[Checks] | None = None
_wait_until = 0.0  # on the monotonic clock
_known = Checks(timezone.now(), [], [], [])


def checks() -> Checks:
    """A result of the last seconds; while it is not there yet, the one before, with nothing well.

    A service that is silent holds up the pages of the first three seconds only, and is a problem.
    """
    global _known, _last, _wait_until
    last = _last
    if last is not None and last.done():
        _known = last.result()
    if last is None or (last.done() and timezone.now() - _known.at > KEPT):
        asked[_NAME] = "database", time.monotonic()  # until a check names another part
        last = _last = _checks_thread.submit(_run)
        _wait_until = time.monotonic() + WAIT_SECONDS
    wait([last], max(0, _wait_until - time.monotonic()))
    if last.done():
        return last.result()
    problems = list(_known.problems)
    part, since = asked[_NAME]
    seconds = time.monotonic() - since
    if seconds > SECONDS and all(each.obj != part for each in problems):
        text = f"There has been no response for {seconds:.0f} seconds."
        if part == FILES:
            text = f"Downloads and imports may fail. {text}"
        problems.insert(0, Error(text, "See whether it runs, and can be reached.", part))
        _known = _known._replace(problems=problems)  # until this run has ended
    facts = [each for each in _known.facts if not str(each.obj).startswith(part)]
    return _known._replace(problems=problems, facts=facts, well=[], running=True)


def _run() -> Checks:
    """A laptop's variables are as `make run` sets them, so nothing is said of them."""
    at = timezone.now()
    try:
        with part_limits(SECONDS):
            tags = [Tags.database] if settings.ON_LAPTOP else None
            found = run_checks(None, tags, True, [DEFAULT_DB_ALIAS])
    except Exception:
        logger.exception("The checks have failed")
        return Checks(at, [Error("They have failed. The log says why.", obj=FAILED)], [], [])
    finally:
        connection.close()
    found.sort(key=lambda each: (str(each.obj), each.id or ""))
    problems = [each for each in found if each.level >= WARNING and not each.is_silenced()]
    facts = [each for each in found if each.level < WARNING]
    looked_at = {each.obj for each in facts if each.level == INFO}
    wrong = tuple(str(each.obj) for each in problems)  # a part's state may follow, in brackets
    well = sorted(part for part in looked_at if not part.startswith(wrong))
    problems.sort(key=lambda each: -each.level)
    return Checks(at, problems, facts, well)
