"""Metrics for Prometheus. An instance is one process, so each process has metrics of its own.

`/metrics` is served on a port of its own, which is for the monitoring only: nginx does not lead
there.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import (
    REGISTRY,
    Counter,
    Histogram,
    Metric,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from config.runtime import slots
from config.runtime.breaker import Breaker
from config.runtime.request_context import deadline

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
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
    "documents_fail_open", "Requests and sign-ins that no counter has counted", ["counter"]
)
DOWNLOADS_STARTED = Counter(
    "documents_downloads_started", "Downloads that started, in process or by nginx", ["file_type"]
)
DOWNLOADS_ENDED = Counter(
    "documents_downloads_ended", "Downloads in process that ended", ["completion"]
)
for _completion in ("complete", "broken_off"):
    DOWNLOADS_ENDED.labels(_completion)  # from 0 on: Prometheus sees no increase to a first value
DOWNLOAD_BYTES = Counter("documents_download_bytes", "Bytes of downloads sent in process")


_OF_SLOTS: tuple[tuple[str, Any, str, str], ...] = (
    ("in_use", GaugeMetricFamily, "documents_slots_in_use", "Requests that run"),
    ("waiting", GaugeMetricFamily, "documents_slots_waiting", "Requests that wait for a slot"),
    ("refused", CounterMetricFamily, "documents_slots_refused", "Requests that got no slot"),
    ("connected", GaugeMetricFamily, "documents_database_connections", "Connections of the slots"),
)


class _State(Collector):
    """What the process is doing at the moment, read when Prometheus asks."""

    def collect(self) -> Iterator[Metric]:
        for attribute, kind, name, text in _OF_SLOTS:
            family = kind(name, text, labels=["class"])
            for slot, semaphore in slots.SLOTS.items():
                family.add_metric([slot], getattr(semaphore, attribute))
            yield family
        breakers = GaugeMetricFamily(
            "documents_breaker_open", "1 while a part is not called", labels=["part"]
        )
        opened = CounterMetricFamily(
            "documents_breaker_opened", "How often a part has failed repeatedly", labels=["part"]
        )
        for name, breaker in list(Breaker.every.items()):
            breakers.add_metric([name], breaker.open)
            opened.add_metric([name], breaker.opened)
        yield from (breakers, opened)


REGISTRY.register(_State())

DATABASE_SECONDS = 2.0  # that the metrics wait for the database
Reader = Callable[[BaseDatabaseWrapper], Iterable[Metric]]


class _Database(Collector):
    """What is read from the database when Prometheus asks; nothing if that is silent.

    Each process has the same values. A scrape has a thread of its own, so its connection is closed
    afterwards.
    """

    def __init__(self, readers: tuple[Reader, ...]) -> None:
        self._readers = readers

    def collect(self) -> Iterator[Metric]:
        token = deadline.set(time.monotonic() + DATABASE_SECONDS)
        found: list[Metric] = []
        try:
            with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as connection:
                for read in self._readers:
                    found += read(connection)
        except DatabaseError as exc:
            logger.warning("No metrics from the database: %s", exc)
        finally:
            deadline.reset(token)
        yield from found

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering asks no database."""
        return ()


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


def start(host: str, port: int, *readers: Reader) -> None:
    """Serves `/metrics` from a thread.

    A worker that replaces another one waits until the other's port is free, and serves meanwhile.

    Args:
        readers: they read further metrics over the database connection that they get.
    """
    REGISTRY.register(_Database(readers))

    def listen() -> None:
        while True:
            try:
                start_http_server(port, host)
                return
            except OSError as exc:
                logger.warning("No metrics yet on %s:%d: %s", host, port, exc)
                time.sleep(RETRY_SECONDS)

    threading.Thread(target=listen, name="metrics", daemon=True).start()
