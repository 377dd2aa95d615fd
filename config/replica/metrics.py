"""Metrics of the replica. Those of what is known about it have no value without one."""

from collections.abc import Iterator

from django.conf import settings
from prometheus_client import REGISTRY, Counter, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from config.replica.watcher import watcher

PAGES = Counter(
    "documents_replica_pages",
    "Pages of the list of documents that the replica was asked for, by what came of it",
    ["outcome"],
)
for _outcome in ("read", "older", "failed"):  # older than it must be
    PAGES.labels(_outcome)  # from 0 on: Prometheus sees no increase to a first value


class _Replica(Collector):
    """What the watcher knows, read when Prometheus asks."""

    def collect(self) -> Iterator[Metric]:
        usable = GaugeMetricFamily(
            "documents_replica_usable", "1 while lists may be read from the replica", labels=[]
        )
        lag = GaugeMetricFamily(
            "documents_replica_lag_seconds", "How far the replica is behind the primary", labels=[]
        )
        if settings.DATABASE_REPLICA:
            usable.add_metric([], float(watcher.knowledge.usable))
            if (seconds := watcher.knowledge.lag) is not None:
                lag.add_metric([], seconds)
        yield from (usable, lag)


REGISTRY.register(_Replica())
