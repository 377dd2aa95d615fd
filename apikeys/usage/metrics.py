"""Metrics of what is counted in the process and written later."""

from collections.abc import Iterator

from prometheus_client import REGISTRY, Counter, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from apikeys.usage.middleware import BUFFERS

FLUSH_FAILURES = Counter(
    "documents_usage_flush_failures", "Times that usage could not be written", ["kind"]
)
LOST = Counter(
    "documents_usage_lost", "Rows of usage that the database refused, for good", ["kind"]
)
for _buffer in BUFFERS:
    FLUSH_FAILURES.labels(_buffer.kind)
    LOST.labels(_buffer.kind)


class _Buffers(Collector):
    """What waits, read when Prometheus asks."""

    def collect(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily(
            "documents_usage_waiting", "Rows of usage that wait to be written", labels=["kind"]
        )
        dropped = CounterMetricFamily(
            "documents_usage_dropped", "Requests that found the buffer full", labels=["kind"]
        )
        for buffer in BUFFERS:
            waiting.add_metric([buffer.kind], len(buffer))
            dropped.add_metric([buffer.kind], buffer.dropped)
        yield from (waiting, dropped)


REGISTRY.register(_Buffers())
