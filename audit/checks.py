"""System checks of the audit log and of backups."""

from datetime import timedelta

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning  # noqa: A004
from django.db import connection, transaction
from django.utils import timezone

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.sealing import guards, keys, laptop, state
from config.checks import DATABASE, Found, asks_service

# On a full disk, a row still finds room in a page. Rows beyond work_mem are written to
# a file on PostgreSQL's disk. The INSERT of no rows is refused without the privilege, and where
# PostgreSQL only reads.
_WRITABLE = """
    SET LOCAL statement_timeout = '1500ms';
    SET LOCAL work_mem = '64kB';
    SELECT count(*) FROM generate_series(1, 50000);
    INSERT INTO audit_auditentry SELECT * FROM audit_auditentry WHERE false
"""


@asks_service("audit.004", "readyz database", hint=DATABASE)
def writable() -> None:
    """Whether an entry can be written; otherwise nothing can be downloaded."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITABLE)


@asks_service("audit.001", hint=DATABASE)
def protection() -> Found:
    """What the roles may do, and the triggers."""
    for text in guards.problems():
        yield Error(text, hint="config/privileges.sql has what roles may do.")


@asks_service("audit.002", hint="docs/reference.md says what belongs there.")
def sealing() -> Found:
    """Whether keys and witnesses are usable, and the log is sealed and found to be intact."""
    from audit.sealing import witnesses  # noqa: PLC0415 - loads boto3

    witnesses.witnesses(settings.AUDIT_WITNESSES)
    if settings.AUDIT_PUBLIC_KEYS:
        keys.public_keys()
        for text in state.read().warnings():
            yield Error(text, hint="See docs/reference.md.")
        yield newest(Action.LOG_VERIFIED, 8 * 24, "Run: deploy/manage verify_audit")
    else:
        text = "AUDIT_PUBLIC_KEYS is not set: nobody can verify the audit log."
        yield Warning(text, hint="Run: deploy/install EMAIL --seal")


@asks_service("audit.003", hint=DATABASE)
def backup() -> Found:
    if not laptop.provided():
        yield newest(Action.BACKUP_MADE, 26, "Run: deploy/backup FOLDER")


def newest(action: Action, hours: int, hint: str) -> CheckMessage:
    """When the action was last recorded; a warning if it is more hours ago."""
    entry = AuditEntry.objects.filter(action=action).order_by(*NEWEST_FIRST).first()
    late = entry is None or timezone.now() - entry.created_at > timedelta(hours=hours)
    when = f"{entry.created_at:%Y-%m-%d %H:%M} UTC: {entry.detail}" if entry else "never."
    return (Warning if late else Info)(f"{action.label}, last: {when}", hint=hint)
