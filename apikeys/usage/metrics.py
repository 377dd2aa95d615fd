"""Metrics of what is counted in the process and written later, by the kind of buffer."""

from prometheus_client import Counter, Gauge

WAITING = Gauge("documents_usage_waiting", "Rows of usage that wait to be written", ["kind"])
DROPPED = Counter("documents_usage_dropped", "Requests that found the buffer full", ["kind"])
FLUSH_FAILURES = Counter(
    "documents_usage_flush_failures", "Times that usage could not be written", ["kind"]
)
LOST = Counter(
    "documents_usage_lost", "Batches of usage that the database refused, for good", ["kind"]
)
