"""The metrics of the log, of backups and of downloads."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection as default_connection
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import Action
from audit.sealing import state

# The condition `<> ended` is that of the index `audit_listed`.
DOWNLOADS = f"""
    SELECT count(*), count(*) FILTER (WHERE EXISTS (
        SELECT FROM audit_auditentry AS ended
        WHERE ended.request_id = begun.request_id AND ended.action = '{Action.DOWNLOAD_ENDED}'
    ))
    FROM (
        SELECT request_id FROM audit_auditentry
        WHERE action = '{Action.DOCUMENT_DOWNLOADED}' AND action <> '{Action.DOWNLOAD_ENDED}'
            AND created_at BETWEEN statement_timestamp() - %s::interval
            AND statement_timestamp() - %s::interval
        ORDER BY created_at DESC, id DESC LIMIT 1000
    ) AS begun
"""  # noqa: S608 - made of constants
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Each process reads them from the database (`config.runtime.metrics`)."""
    with connection.cursor() as cursor:
        cursor.execute(state.newest(Action.BACKUP_MADE))
        [backup] = cursor.fetchone() or [None]
    begun, ended = _downloads(DAY, HOUR, connection)
    found = state.read(connection)
    gauges: dict[str, tuple[str, float]] = {
        "backup_timestamp_seconds": (
            "When record_backup was last called; 0 if never",
            _timestamp(backup),
        ),
        "downloads_without_end_ratio": (
            "The part of the newest 1,000 downloads that began 1 to 24 hours ago without a "
            "completion",
            (begun - ended) / begun if begun else 0.0,
        ),
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


def _downloads(
    since: timedelta, until: timedelta, connection: BaseDatabaseWrapper = default_connection
) -> tuple[int, int]:
    """Of the newest 1,000 downloads of these ages: how many there are, and how many have an end."""
    with connection.cursor() as cursor:
        cursor.execute(DOWNLOADS, [f"{since.total_seconds()} s", f"{until.total_seconds()} s"])
        [(begun, ended)] = cursor.fetchall()
    return begun, ended
