"""What Prometheus reads of events."""

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

# The events of later transactions wait for the oldest one that writes, whatever its database.
_HELD = """
    SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0)::float8 FROM (
        SELECT xact_start FROM pg_stat_activity WHERE backend_xid IS NOT NULL
        UNION ALL SELECT prepared FROM pg_prepared_xacts
    ) AS writing (since)
"""


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """How old the end of the feed is."""
    with connection.cursor() as cursor:
        cursor.execute(_HELD)
        [(seconds,)] = cursor.fetchall()
    help = "How long the newest events have waited for a transaction that writes"
    yield GaugeMetricFamily("documents_events_held_seconds", help, seconds)
