"""The audit log's metrics, read from the database when Prometheus asks; none if it is silent."""

import logging
import time
from collections.abc import Iterator
from datetime import datetime

from django.db import Error as DatabaseError
from prometheus_client import REGISTRY, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from audit.tree import state
from audit.tree.state import State
from config.request_context import deadline

logger = logging.getLogger(__name__)

SECONDS = 2.0  # that the metrics wait for the database


class _Seals(Collector):
    """Each server process has the same values, since the log is one."""

    def collect(self) -> Iterator[Metric]:
        token = deadline.set(time.monotonic() + SECONDS)
        try:
            found = state.read_apart()
        except DatabaseError as exc:
            logger.warning("No metrics of the audit log: %s", exc)
            return
        finally:
            deadline.reset(token)
        yield from _metrics(found)

    def describe(self) -> Iterator[Metric]:
        """The names of the metrics, so that registering them asks no database."""
        return _metrics(State(None, 0, None, None))


def _metrics(found: State) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "documents_audit_unsealed_seconds",
        "The age of the oldest audit entry that is not sealed",
        found.unsealed_seconds or 0,
    )
    yield GaugeMetricFamily(
        "documents_audit_sealed_entries", "Audit entries that are sealed", found.sealed
    )
    yield GaugeMetricFamily(
        "documents_audit_verification_failed",
        "1 if the last verification found that the audit log is damaged",
        int(found.damaged),
    )
    yield GaugeMetricFamily(
        "documents_audit_verified_timestamp_seconds",
        "When the audit log was last verified, whatever was found; 0 if never",
        _timestamp(found.verified_at),
    )


def _timestamp(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0


REGISTRY.register(_Seals())
