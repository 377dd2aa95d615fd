"""`/healthz`: the process serves. `/readyz`: what it needs works.

These and `/metrics` are for load balancers and monitoring: they need no key, and depend on no Host
header. The response names no cause, since anybody may read it; the log does.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from django.core.checks import run_checks
from django.db import DEFAULT_DB_ALIAS, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from config.api.responses import json_response

logger = logging.getLogger(__name__)

# The system checks of a part have the tag "readyz" and its name. They run one after the other.
PARTS = ("database", "migrations", "counter", "object_storage")
REQUIRED = {"database", "migrations"}  # without the others it serves less
DEADLINE_SECONDS = 1.8  # for all parts together
CACHE_SECONDS = 1.0  # so that requests to /readyz put no load on the parts

_thread = ThreadPoolExecutor(1, "readyz")  # the only one that waits for a silent part
_states: dict[str, str] = {}  # by part
_check: Future[None] | None = None  # what fills them in
_began = 0.0  # on the monotonic clock


def _check_parts(states: dict[str, str]) -> None:
    for part in PARTS:
        states[part] = "failed"  # until it responds
        found = run_checks(None, [f"readyz {part}"], True, [DEFAULT_DB_ALIAS])
        if errors := [each.msg for each in found if each.is_serious()]:
            logger.error("Not ready: %s: %s", part, " ".join(errors))
        else:
            states[part] = "ok"
    connection.close()


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """`/healthz`."""
    return json_response({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """`/readyz`: 503 if it cannot serve; `degraded` if it can, with less."""
    global _began, _check, _states
    if _check is None or _check.done() and time.monotonic() > _began + CACHE_SECONDS:
        _began, _states = time.monotonic(), dict.fromkeys(PARTS, "unknown")
        _check = _thread.submit(_check_parts, _states)
    wait([_check], DEADLINE_SECONDS)
    states = dict(_states)
    failed = {part for part in PARTS if states[part] != "ok"}
    status = "failed" if failed & REQUIRED else "degraded" if failed else "ok"
    return json_response({"status": status, "checks": states}, 503 if failed & REQUIRED else 200)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """`/metrics`, for Prometheus."""
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


VIEWS = {"/healthz": live, "/readyz": ready, "/metrics": metrics}


def middleware(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[..., HttpResponse]:
    """Responds to these paths, before any middleware that reads more of the request."""
    return lambda request: VIEWS.get(request.path_info, get_response)(request)
