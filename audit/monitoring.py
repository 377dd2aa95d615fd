"""The last backup, and completions of downloads that nobody has recorded, as metrics."""

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import Action

# A download may go on for a while, and nginx's log is read again once an hour. The condition
# `<> ended` is that of the index `audit_listed`.
_STATE = f"""
    SELECT
        (SELECT extract(epoch FROM created_at)::float8 FROM audit_auditentry
        WHERE action = '{Action.BACKUP_MADE}' ORDER BY created_at DESC, id DESC LIMIT 1),
        (SELECT avg((NOT EXISTS (
            SELECT FROM audit_auditentry AS ended
            WHERE ended.request_id = begun.request_id AND ended.action = '{Action.DOWNLOAD_ENDED}'
        ))::int)::float8
        FROM (
            SELECT request_id FROM audit_auditentry
            WHERE action = '{Action.DOCUMENT_DOWNLOADED}' AND action <> '{Action.DOWNLOAD_ENDED}'
                AND created_at BETWEEN statement_timestamp() - interval '24 h'
                AND statement_timestamp() - interval '1 h'
            ORDER BY created_at DESC, id DESC LIMIT 1000
        ) AS begun)
"""  # noqa: S608 - made of constants


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Each process reads them from the database (`config.runtime.metrics`)."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        [(backup, without_end)] = cursor.fetchall()
    yield GaugeMetricFamily(
        "documents_backup_timestamp_seconds",
        "When record_backup was last called; 0 if never",
        backup or 0.0,
    )
    yield GaugeMetricFamily(
        "documents_downloads_without_end_ratio",
        "The part of the newest 1,000 downloads that began 1 to 24 hours ago without a completion",
        without_end or 0.0,
    )
