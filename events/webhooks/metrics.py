"""The webhooks' metrics, read from the database when Prometheus asks; none if it is silent."""

import logging
import time
from collections.abc import Iterator

from django.db import Error as DatabaseError
from prometheus_client import REGISTRY, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from config.request_context import deadline
from events.webhooks import state
from events.webhooks.state import State

logger = logging.getLogger(__name__)

SECONDS = 2.0  # that the metrics wait for the database
_HELP = {
    "pending": "Deliveries that wait for an attempt",
    "overdue_seconds": "How long the oldest delivery waits that should have been attempted",
    "processes": "Processes that deliver",
    "endpoints": "Endpoints",
    "switched_off": "Endpoints that the service has switched off",
}


class _Webhooks(Collector):
    """Each server process has the same values."""

    def collect(self) -> Iterator[Metric]:
        token = deadline.set(time.monotonic() + SECONDS)
        try:
            found = state.read_apart()
        except DatabaseError as exc:
            logger.warning("No metrics of the webhooks: %s", exc)
            return
        finally:
            deadline.reset(token)
        yield from _metrics(found)

    def describe(self) -> Iterator[Metric]:
        """The names of the metrics, so that registering them asks no database."""
        return _metrics(State(0, 0, 0, 0, 0, 0))


def _metrics(found: State) -> Iterator[Metric]:
    for name, help in _HELP.items():
        yield GaugeMetricFamily(f"documents_webhooks_{name}", help, getattr(found, name))
    yield GaugeMetricFamily(
        "documents_events_held_seconds",
        "The age of the oldest event that the feed does not show yet",
        found.held_seconds,
    )


REGISTRY.register(_Webhooks())
