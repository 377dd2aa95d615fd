"""The audit log's facts for operators (`config.console.system`)."""

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from audit.models import NEWEST_FIRST, Action, AuditEntry
from config.console.system import Fact, time_or

BACKUP_HOURS = 26  # a daily one may be a little late

# A download may go on, and nginx's log is read again once an hour.
_WITHOUT_END = f"""
    SELECT count(*) FROM audit_auditentry AS started
    WHERE action = '{Action.DOCUMENT_DOWNLOADED.value}'
        AND created_at > now() - interval '24 hours' AND created_at < now() - interval '1 hour'
        AND NOT EXISTS (
            SELECT FROM audit_auditentry AS ended
            WHERE ended.request_id = started.request_id
                AND ended.action = '{Action.DOWNLOAD_ENDED.value}'
        )
"""  # noqa: S608 - made of constants


def read_backup() -> list[Fact]:
    """When `manage.py record_backup` was last called; deploy/backup does so."""
    newest = AuditEntry.objects.filter(action=Action.BACKUP_MADE).order_by(*NEWEST_FIRST).first()
    if newest is None:
        return [Fact("Last backup", "none is recorded: see deploy/backup", "warn")]
    late = timezone.now() - newest.created_at > timedelta(hours=BACKUP_HOURS)
    return [
        Fact("Last backup", time_or(newest.created_at, ""), "warn" if late else "ok"),
        Fact("It has", newest.detail or "no description"),
    ]


def read_downloads() -> list[Fact]:
    """Downloads whose end is unknown, since a process was killed, say."""
    with connection.cursor() as cursor:
        cursor.execute(_WITHOUT_END)
        [[count]] = cursor.fetchall()
    return [
        Fact(
            "Without an end, of those that began 1 to 24 hours ago",
            f"{count:,}",
            "warn" if count else "ok",
        )
    ]
