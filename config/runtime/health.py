"""`/healthz`: the process serves. `/readyz`: what it needs works.

These and `/metrics` are for load balancers and monitoring: they need no key, and depend on no Host
header. The response names no cause, since anybody may read it; the log does.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from config.api.errors import MethodNotAllowed
from config.api.exceptions import error_response
from config.api.responses import json_response

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 1.8  # for all parts together
CACHE_SECONDS = 1.0  # so that requests to /readyz put no load on the parts
REQUIRED = ("database", "migrations")  # without the others it serves less

# A silent part keeps one thread waiting, however many ask.
_thread = ThreadPoolExecutor(1, "readyz")
_lock = threading.Lock()
_running: Future[None] = Future()
_running.set_result(None)
_began = 0.0  # on the monotonic clock
_states: dict[str, str] = {}


def unapplied() -> list[str]:
    """The migrations of this release that the database lacks, as "auth.0001_initial"."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def check_migrations() -> None:
    """Raises an exception if the database lacks migrations."""
    if missing := unapplied():
        raise RuntimeError(f"it lacks {missing[0]}. Run: python manage.py migrate")


def _check(states: dict[str, str]) -> None:
    """Checks one part after the other."""
    for name, path in settings.READINESS.items():
        try:
            import_string(path)()
            states[name] = "ok"
        except Exception as exc:
            logger.error("Not ready: %s: %s", name, exc)
    connection.close()


def live() -> HttpResponse:
    """`/healthz`."""
    return json_response({"status": "ok"})


def ready() -> HttpResponse:
    """`/readyz`: 503 if it cannot serve; `degraded` if it can, with less."""
    global _began, _running, _states
    with _lock:
        if _running.done() and time.monotonic() > _began + CACHE_SECONDS:
            _began, _states = time.monotonic(), dict.fromkeys(settings.READINESS, "failed")
            _running = _thread.submit(_check, _states)
        running, states = _running, _states
    with contextlib.suppress(TimeoutError):
        running.result(DEADLINE_SECONDS)
    checks = dict(states)
    failed = [name for name, state in checks.items() if state == "failed"]
    if failed and not running.done():
        logger.error("Not ready: %s: no response in time", failed[0])
    serves = not set(REQUIRED) & set(failed)
    status = "ok" if not failed else "degraded" if serves else "failed"
    return json_response({"status": status, "checks": checks}, 200 if serves else 503)


def metrics() -> HttpResponse:
    """`/metrics`, for Prometheus."""
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


PATHS = {"/healthz": live, "/readyz": ready, "/metrics": metrics}


def middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Responds to these paths, before any middleware that reads more of the request."""

    def handle(request: HttpRequest) -> HttpResponse:
        endpoint = PATHS.get(request.path_info)
        if endpoint is None:
            return get_response(request)
        if request.method not in ("GET", "HEAD"):
            return error_response(MethodNotAllowed())
        response = endpoint()
        response["Content-Length"] = str(len(response.content))
        return response

    return handle
