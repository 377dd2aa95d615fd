"""System checks of the audit log and of backups, and whether an entry can be written."""

from datetime import timedelta

from django.conf import settings
from django.core.checks import Error, Info, Tags, Warning  # noqa: A004
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.utils import timezone

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.sealing import guards, keys, laptop, state
from config.checks import DATABASE, QUICK, Found, finds

# On a full disk, a row still finds room in a page. Rows beyond work_mem are written to
# a file on PostgreSQL's disk. The INSERT of no rows is refused without the privilege, and where
# PostgreSQL only reads.
_WRITABLE = """
    SET LOCAL statement_timeout = '1500ms';
    SET LOCAL work_mem = '64kB';
    SELECT count(*) FROM generate_series(1, 50000);
    INSERT INTO audit_auditentry SELECT * FROM audit_auditentry WHERE false
"""


def check_writable() -> None:
    """Raises an exception if no entry can be written, so that nothing can be downloaded."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITABLE)


@finds("audit.001", Tags.database, QUICK, hint=DATABASE)
def protection() -> Found:
    """What the roles may do, and the triggers."""
    for text in guards.problems():
        yield Error, text, "See docs/reference.md; config/privileges.sql has what roles may do."


@finds("audit.002")
def sealing_variables() -> Found:
    from audit.sealing import witnesses  # noqa: PLC0415 - loads boto3

    if not settings.AUDIT_PUBLIC_KEYS:
        text = "AUDIT_PUBLIC_KEYS is not set: nobody can verify the audit log."
        yield Warning, text, "Make a key with `make_audit_key NAME`, and run `seal_audit`."
    elif "bucket" not in settings.AUDIT_WITNESSES and not laptop.provided():
        text = "AUDIT_WITNESSES has no `bucket`: who administers this machine can change the log."
        yield Warning, text, "Add `bucket`, with AUDIT_WITNESS_BUCKET in which objects are locked."
    try:
        if settings.AUDIT_PUBLIC_KEYS:
            keys.public_keys()
        witnesses.witnesses(settings.AUDIT_WITNESSES)
    except ImproperlyConfigured as exc:
        yield Error, str(exc), "docs/reference.md says what belongs there."


def _newest(action: Action) -> AuditEntry | None:
    return AuditEntry.objects.filter(action=action).order_by(*NEWEST_FIRST).first()


@finds("audit.003", Tags.database, QUICK, hint=DATABASE)
def backup_and_verification() -> Found:
    """Whether there is a backup of yesterday, and the log is sealed and verified every week."""
    wanted = [] if laptop.provided() else [(Action.BACKUP_MADE, 26, "Run: deploy/backup FOLDER")]
    if settings.AUDIT_PUBLIC_KEYS:
        wanted.append((Action.LOG_VERIFIED, 8 * 24, "Run: deploy/manage verify_audit"))
        for text in state.read().warnings():
            yield Error, text, "See docs/reference.md."
    for action, hours, hint in wanted:
        newest = _newest(action)
        when = f"{newest.created_at:%Y-%m-%d %H:%M} UTC: {newest.detail}" if newest else "never."
        late = newest is None or timezone.now() - newest.created_at > timedelta(hours=hours)
        yield Warning if late else Info, f"{action.label}, last: {when}", hint
