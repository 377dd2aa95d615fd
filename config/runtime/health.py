"""`/healthz`: the process lives. `/readyz`: it can serve, with the state of each part it needs.

Both are for load balancers and monitoring: they need no key, and depend on no Host header. The
response names no cause, since anybody may read it; the log does.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection
from django.http import HttpRequest, HttpResponse
from msgspec import Struct

from config.api.errors import MethodNotAllowed
from config.api.responses import error_response, json_response
from config.runtime.postgresql import migrations
from config.runtime.request_context import deadline

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 2.0  # for all checks together, which run at the same time
CACHE_SECONDS = 1.0  # so that requests to /readyz put no load on the parts


class CheckResult(Struct):
    """The state of one part: "ok" or "failed"."""

    state: str
    milliseconds: float


class Readiness(Struct):
    """The body of `/readyz`: "ok", "degraded" (it serves, with less) or "failed"."""

    status: str
    checks: dict[str, CheckResult]


class _Check:
    """A check with a thread of its own, so that a silent part keeps at most one thread waiting."""

    def __init__(self, name: str, probe: Callable[[], object], *, required: bool) -> None:
        self.required = required
        self._name = name
        self._probe = probe
        self._thread = ThreadPoolExecutor(1, f"health {name}")
        self._running: Future[CheckResult] | None = None

    def start(self) -> None:
        """Runs the probe, unless it is running."""
        if self._running is None or self._running.done():
            self._running = self._thread.submit(self._run)

    def result(self, started: float) -> CheckResult:
        """Waits for the probe, until the deadline of what has started at this monotonic time."""
        assert self._running is not None  # noqa: S101 - `start` was called
        try:
            return self._running.result(max(0.0, started + DEADLINE_SECONDS - time.monotonic()))
        except TimeoutError:
            logger.error("Not ready: %s has not responded in time", self._name)
            return CheckResult("failed", DEADLINE_SECONDS * 1000)

    def _run(self) -> CheckResult:
        started = time.monotonic()
        deadline.set(started + DEADLINE_SECONDS)
        state = "ok"
        try:
            self._probe()
        except Exception as exc:
            state = "failed"
            logger.error("Not ready: %s: %s", self._name, exc)
        return CheckResult(state, round((time.monotonic() - started) * 1000, 1))


_checks: dict[str, _Check] = {}


def register(name: str, probe: Callable[[], object], *, required: bool) -> None:
    """Adds a check to `/readyz`.

    Args:
        probe: raises an exception if the part does not work. It runs in a thread of its own.
        required: whether the service cannot serve without the part.
    """
    _checks[name] = _Check(name, probe, required=required)


def check_database() -> None:
    """Raises an exception if the database is out of reach or lacks migrations."""
    if not connection.is_usable():
        connection.close()
        connection.connect()
    if missing := migrations.unapplied():
        raise RuntimeError(f"it lacks the migration {missing[0]}. Run: python manage.py migrate")


register("database", check_database, required=True)


_lock = threading.Lock()
_last = Readiness("ok", {})
_expires = 0.0  # on the monotonic clock


def readiness() -> Readiness:
    """The results of all checks, at most a second old."""
    global _last, _expires
    with _lock:
        if time.monotonic() >= _expires:
            _last = _run_checks()
            _expires = time.monotonic() + CACHE_SECONDS
        return _last


def _run_checks() -> Readiness:
    started = time.monotonic()
    for check in _checks.values():
        check.start()
    results = {name: check.result(started) for name, check in _checks.items()}
    failed = [_checks[name] for name in results if results[name].state == "failed"]
    if any(check.required for check in failed):
        return Readiness("failed", results)
    return Readiness("degraded" if failed else "ok", results)


def live() -> HttpResponse:
    """`/healthz`."""
    return json_response({"status": "ok"})


def ready() -> HttpResponse:
    """`/readyz`: 503 if it cannot serve."""
    found = readiness()
    return json_response(found, 503 if found.status == "failed" else 200)


PATHS = {"/healthz": live, "/readyz": ready}


def middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Responds to the two paths, before any middleware that reads more of the request."""

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
