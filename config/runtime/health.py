"""`/healthz`: the process lives. `/readyz`: it can serve, with the state of each part it needs.

These and `/metrics` are for load balancers and monitoring: they need no key, and depend on no Host
header. The response names no cause, since anybody may read it; the log does.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection
from django.http import HttpRequest, HttpResponse
from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from config.api.errors import MethodNotAllowed
from config.api.responses import error_response, json_response
from config.runtime.postgresql import migrations, sessions

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 2.0  # for all checks together, which run at the same time
CACHE_SECONDS = 1.0  # so that requests to /readyz put no load on the parts


class CheckResult(Struct, omit_defaults=True):
    """The state of one part: "ok" or "failed", and the tables that are locked."""

    state: str
    milliseconds: float
    tables: list[str] = []


class Readiness(Struct):
    """The body of `/readyz`: "ok", "degraded" (it serves, with less) or "failed"."""

    status: str
    checks: dict[str, CheckResult]


class TablesLocked(Exception):
    """Requests wait for tables that somebody has locked. The names are public, the text is not."""

    def __init__(self, found: list[sessions.Session]) -> None:
        super().__init__("; ".join(f"{each.table} is locked by {each}" for each in found))
        self.tables = sorted({each.table for each in found})


class _Check:
    """A check with a thread of its own, so that a silent part keeps at most one thread waiting.

    Attributes:
        cause: why the last one has failed, for operators.
    """

    def __init__(
        self, name: str, probe: Callable[[], object], *, required: bool, thread: ThreadPoolExecutor
    ) -> None:
        self.required = required
        self.cause = ""
        self._name = name
        self._probe = probe
        self.thread = thread
        self._running: Future[CheckResult] | None = None

    def start(self) -> None:
        """Runs the probe, unless it is running."""
        if self._running is None or self._running.done():
            self._running = self.thread.submit(self._run)

    def result(self, started: float) -> CheckResult:
        """Waits for the probe, until the deadline of what has started at this monotonic time."""
        assert self._running is not None  # noqa: S101 - `start` was called
        try:
            return self._running.result(max(0.0, started + DEADLINE_SECONDS - time.monotonic()))
        except TimeoutError:
            self.cause = "no response in time"
            logger.error("Not ready: %s has not responded in time", self._name)
            return CheckResult("failed", DEADLINE_SECONDS * 1000)

    def _run(self) -> CheckResult:
        started = time.monotonic()
        state, self.cause = "ok", ""
        tables: list[str] = []
        try:
            self._probe()
        except Exception as exc:
            state, tables, self.cause = "failed", getattr(exc, "tables", []), str(exc)
            logger.error("Not ready: %s: %s", self._name, exc)
        return CheckResult(state, round((time.monotonic() - started) * 1000, 1), tables)


_checks: dict[str, _Check] = {}


def register(
    name: str, probe: Callable[[], object], *, required: bool, after: str | None = None
) -> None:
    """Adds a check to `/readyz`.

    Args:
        probe: raises an exception if the part does not work. It runs in a thread of its own.
        required: whether the service cannot serve without the part.
        after: the check whose thread it runs in, with its database connection.
    """
    thread = _checks[after].thread if after else ThreadPoolExecutor(1, f"health {name}")
    _checks[name] = _Check(name, probe, required=required, thread=thread)


def cause(name: str) -> str:
    """Why the last check of this name has failed: for operators only."""
    return _checks[name].cause


def check_database() -> None:
    """Raises an exception if the database is out of reach or lacks migrations."""
    if not connection.is_usable():
        connection.close()
        connection.connect()
    if missing := migrations.unapplied():
        raise RuntimeError(f"it lacks the migration {missing[0]}. Run: python manage.py migrate")


def check_locks() -> None:
    """Raises an exception if somebody keeps requests from a table."""
    if found := sessions.blocking():
        raise TablesLocked(found)


register("database", check_database, required=True)
register("locks", check_locks, required=False, after="database")


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
