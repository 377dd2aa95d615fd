"""The webhooks' metrics, which each process reads from the database (`config.metrics`)."""

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from config import metrics
from events.webhooks import state

_HELP = {
    "pending": "Deliveries that wait for an attempt",
    "overdue_seconds": "How long the oldest delivery waits that should have been attempted",
    "processes": "Processes that deliver",
    "endpoints": "Endpoints",
    "switched_off": "Endpoints that the service has switched off",
}


def read(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """What waits and who delivers; whether the feed of events is held back."""
    found = state.read(connection)
    for name, help in _HELP.items():
        yield GaugeMetricFamily(f"documents_webhooks_{name}", help, getattr(found, name))
    yield GaugeMetricFamily(
        "documents_events_held_seconds",
        "The age of the oldest event that the feed does not show yet",
        found.held_seconds,
    )


metrics.register_database(read)
