from datetime import timedelta

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Warning  # noqa: A004
from django.db import connection, transaction
from django.utils import timezone

from audit.models import Action
from audit.queries import newest
from audit.sealing import guards, keys, state
from config.checks import DATABASE, Found, asks_service

# On a full disk, a row still finds room in a page. Rows beyond work_mem are written to
# a file on PostgreSQL's disk. The INSERT of no rows is refused without the privilege, and where
# PostgreSQL only reads.
_WRITABLE = """
    SET LOCAL work_mem = '64kB';
    SELECT count(*) FROM generate_series(1, 50000);
    INSERT INTO audit_auditentry SELECT * FROM audit_auditentry WHERE false
"""


@asks_service("audit.002", "readyz audit_log", hint=DATABASE)
def audit_log_writable() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITABLE)


@asks_service("audit.001", hint="docs/reference.md says what AUDIT_PUBLIC_KEYS must be.")
def audit_log() -> Found:
    """Whether roles and triggers protect it, and it is backed up, sealed and found to be intact."""
    for text in guards.problems():
        yield Error(text, hint="config/privileges.sql has what roles may do.")
    if settings.MAILBOX:
        yield Info("Backups: none are made of a laptop's data.")
    else:
        yield last(Action.BACKUP_MADE, 26, "Run: deploy/backup FOLDER")
    if keys.set_up():
        keys.public_keys()
        for text in state.read().warnings():
            yield Error(text, hint="See docs/reference.md.")
        yield last(Action.LOG_VERIFIED, 8 * 24, "Run: deploy/manage verify_audit")
    else:
        yield Info("The audit log is not sealed, which is an option: deploy/install EMAIL --seal")


def last(action: Action, hours: int, hint: str) -> CheckMessage:
    """When the action was last recorded; a warning if it is more hours ago."""
    entry = newest(action)
    late = entry is None or timezone.now() - entry.created_at > timedelta(hours=hours)
    when = f"last {entry.created_at:%Y-%m-%d %H:%M} UTC: {entry.detail}" if entry else "never."
    return (Warning if late else Info)(f"{action.label}: {when}", hint=hint)
