"""Metrics for Prometheus. An instance is one process, so each process has metrics of its own.

A server has them at `/metrics`, where nginx does not lead; a command on a port of its own.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from django.db import Error as DatabaseError
from django.db import connection
from prometheus_client import REGISTRY, Counter, Histogram, Metric, disable_created_metrics
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
FAIL_OPEN = Counter(
    "documents_fail_open", "How often Redis did not count, so that the process did for a second"
)

# Of what is in the database; each app adds one.
readers: list[Callable[[], Iterable[Metric]]] = []


class DatabaseCollector(Collector):
    """What is read from the database when Prometheus asks; nothing if that is silent.

    Each process has the same values. A scrape has a new connection: a database that has become
    silent holds it up only until connecting has taken too long.
    """

    def collect(self) -> Iterator[Metric]:
        connection.close()
        try:
            yield from [metric for read in readers for metric in read()]
        except DatabaseError as exc:
            logger.warning("No metrics from the database: %s", exc)
        finally:
            connection.close()

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering asks no database."""
        return ()


REGISTRY.register(DatabaseCollector())


@cache
def of_route(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    """The metrics of a URL pattern. To find them by their labels takes longer than to count.

    There are few, since no client chooses a label.
    """
    return _requests.labels(method, route, status), _seconds.labels(route)
