from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import Action, AuditEntry
from audit.sealing import keys, state


def read_metrics() -> Iterator[Metric]:
    """What an alert needs (`config.request.metrics`). The checks have more."""
    backup = AuditEntry.newest(Action.BACKUP_MADE)
    text = "When record_backup was last called; 0 if never"
    timestamp = backup.created_at.timestamp() if backup else 0.0
    yield GaugeMetricFamily("documents_backup_timestamp_seconds", text, timestamp)
    if keys.set_up():
        text = "The age of the oldest audit entry that is not sealed; infinite if that is unknown"
        seconds = state.read().unsealed_seconds
        yield GaugeMetricFamily("documents_audit_unsealed_seconds", text, seconds)
