"""Metrics for Prometheus. An instance is one process, so each process has metrics of its own.

A server has them at `/metrics`, where nginx does not lead; a command on a port of its own.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache

from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import (
    REGISTRY,
    Counter,
    Histogram,
    Metric,
    disable_created_metrics,
)
from prometheus_client.registry import Collector

logger = logging.getLogger(__name__)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

disable_created_metrics()  # type: ignore[no-untyped-call]

_requests = Counter("documents_requests", "Requests that ended", ["method", "route", "status"])
_seconds = Histogram(
    "documents_request_duration_seconds",
    "From the request's arrival at the application until its response begins",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
UNAVAILABLE = Counter("documents_unavailable", "Responses with 503, by their cause", ["cause"])
FAIL_OPEN = Counter(
    "documents_fail_open", "How often Redis did not count, so that the process did for a second"
)
DOWNLOADS_STARTED = Counter(
    "documents_downloads_started", "Downloads that started, in process or by nginx", ["file_type"]
)

Reader = Callable[[BaseDatabaseWrapper], Iterable[Metric]]


class _Database(Collector):
    """What is read from the database when Prometheus asks; nothing if that is silent.

    Each process has the same values. A scrape has a thread of its own, so its connection is closed
    afterwards.
    """

    def __init__(self) -> None:
        self.readers: list[Reader] = []

    def collect(self) -> Iterator[Metric]:
        found: list[Metric] = []
        try:
            with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as connection:
                for read in self.readers:
                    found += read(connection)
        except DatabaseError as exc:
            logger.warning("No metrics from the database: %s", exc)
        yield from found

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering asks no database."""
        return ()


_database = _Database()
REGISTRY.register(_database)


@cache  # looking a label up costs more than counting
def _request_counter(method: str, route: str, status: int) -> Counter:
    return _requests.labels(method, route, status)


@cache
def _request_histogram(route: str) -> Histogram:
    return _seconds.labels(route)


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """Counts a request.

    Args:
        route: one of few: a URL pattern, not a path.
        seconds: until its response began.
    """
    known = method if method in METHODS else "other"  # a client can invent methods
    _request_counter(known, route, status).inc()
    _request_histogram(route).observe(seconds)


def read_database(read: Reader) -> None:
    """Adds metrics that `read` reads over the database connection that it gets."""
    _database.readers.append(read)
