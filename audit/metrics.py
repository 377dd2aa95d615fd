"""The audit log's metrics, which each process reads from the database."""

from collections.abc import Iterator
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.tree import state


def read(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Whether the log is sealed and intact."""
    found = state.read(connection)
    yield GaugeMetricFamily(
        "documents_audit_unsealed_seconds",
        "The age of the oldest audit entry that is not sealed",
        found.unsealed_seconds or 0,
    )
    yield GaugeMetricFamily(
        "documents_audit_sealed_entries", "Audit entries that are sealed", found.sealed
    )
    yield GaugeMetricFamily(
        "documents_audit_foreign",
        "1 if somebody else than the sealer has written to the tree of the audit log",
        int(bool(found.foreign)),
    )
    yield GaugeMetricFamily(
        "documents_audit_verification_failed",
        "1 if a verification found that the audit log is damaged, until that is settled",
        int(found.damaged),
    )
    yield GaugeMetricFamily(
        "documents_audit_verified_timestamp_seconds",
        "When the audit log was last verified, whatever was found; 0 if never",
        _timestamp(found.verified_at),
    )


def _timestamp(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0
