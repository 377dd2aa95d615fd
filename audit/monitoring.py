from collections.abc import Iterator
from datetime import datetime

from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import Action
from audit.sealing import keys, state


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Each process reads them from the database (`config.request.metrics`)."""
    with connection.cursor() as cursor:
        cursor.execute(state.newest(Action.BACKUP_MADE))
        [backup] = cursor.fetchone() or [None]
    text = "When record_backup was last called; 0 if never"
    yield GaugeMetricFamily("documents_backup_timestamp_seconds", text, _timestamp(backup))
    if not keys.set_up():
        return
    found = state.read(connection)
    gauges: dict[str, tuple[str, float]] = {
        "audit_unsealed_seconds": (
            "The age of the oldest audit entry that is not sealed",
            found.unsealed_seconds or 0,
        ),
        "audit_sealed_entries": ("Audit entries that are sealed", found.sealed),
        "audit_foreign": (
            "1 if somebody else than the sealer has written to the tree of the audit log",
            bool(found.foreign),
        ),
        "audit_verification_failed": (
            "1 if a verification found that the audit log is damaged, until that is settled",
            found.damaged,
        ),
        "audit_verified_timestamp_seconds": (
            "When the audit log was last verified, whatever was found; 0 if never",
            _timestamp(found.verified_at),
        ),
    }
    for name, (text, value) in gauges.items():
        yield GaugeMetricFamily(f"documents_{name}", text, float(value))


def _timestamp(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0
