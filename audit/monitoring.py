"""The state of the audit log and of its backups: system checks and metrics."""

from collections.abc import Iterator
from datetime import timedelta
from math import inf

from django.conf import settings
from django.core.checks import CheckMessage, Debug, Error, Info, Warning  # noqa: A004
from django.db import connection, transaction
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import Action, AuditEntry
from audit.sealing import guards, keys, state
from config.checks import AUDIT_LOG, DATABASE, Found, asks_service, look_at
from config.connections import processes
from config.console.formatting import ago
from config.request import metrics

KEYS = "See `AUDIT_PUBLIC_KEYS` in `docs/reference.md`."
# On a full disk, a row still finds room in a page. Rows beyond work_mem are written to
# a file on PostgreSQL's disk. The INSERT of no rows is refused without the privilege, and where
# PostgreSQL only reads.
_WRITABLE = """
    SET LOCAL work_mem = '64kB';
    SELECT count(*) FROM generate_series(1, 50000);
    INSERT INTO audit_auditentry SELECT * FROM audit_auditentry WHERE false
"""


@asks_service(AUDIT_LOG, "audit.002", "readyz audit_log", hint=DATABASE)
def audit_log_writable() -> Found:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_WRITABLE)
    yield Debug("Entries can be added.")  # the next check says whether the log is well


@asks_service(AUDIT_LOG, "audit.001", hint=KEYS)
def audit_log() -> Found:
    """Whether roles and triggers protect it, and it is sealed and was found to be intact."""
    for text in guards.problems():
        yield Error(text, hint="`config/privileges.sql` has what roles may do.")
    if keys.set_up():
        yield from list(wrong_seals(state.read())) or [Info("Entries are sealed.")]
        yield last("verified", Action.LOG_VERIFIED, 8 * 24, "Run `deploy/manage verify_audit`.")
    else:
        # Staff read this name among what is well; customers read nothing of seals.
        unsealed = f"{AUDIT_LOG} (not sealed)"
        text = "It is not sealed: nothing would show a change of an entry."
        yield Info(f"{text} `docs/operations.md` says how to seal it.", obj=unsealed)


def wrong_seals(found: state.State) -> Found:
    """What is wrong with the seals, and what an operator does about it."""
    if found.unverified:
        yield Error(found.unverified, KEYS, AUDIT_LOG)
    # A newer result does not end it: the role that serves can add one.
    at = f"{found.damaged_at:%Y-%m-%dT%H:%M:%SZ}" if found.damaged_at else ""
    if at and at != settings.AUDIT_DAMAGE_SETTLED:
        text = f"The verification of {found.damaged_at:%Y-%m-%d %H:%M:%S} UTC found that the log"
        yield Error(
            f"{text} is damaged.",
            "`manage.py verify_audit` names the entries that cannot be relied on. Once that is "
            f"settled, set `AUDIT_DAMAGE_SETTLED={at}`.",
            AUDIT_LOG,
        )
    if found.foreign:
        text = f"{found.foreign} So somebody else than the sealer has written to its tree."
        yield Error(text, "Find out who: `manage.py verify_audit` says more.", AUDIT_LOG)
    # Where a timer or somebody starts the sealer, no process is missing.
    began = AuditEntry.newest(Action.COMMAND_RUN, detail__startswith=state.BEGAN)
    if began and not processes(state.PROCESS):
        text = "No process seals its entries; nothing would show a change of new ones."
        yield Error(text, look_at("seal", missing=True), AUDIT_LOG)
    elif state.LATE_SECONDS < found.unsealed_seconds < inf:
        minutes = f"{found.unsealed_seconds // 60:,.0f} minutes"
        text = f"Entries have waited to be sealed for {minutes}; nothing would show their change."
        yield Error(text, look_at("seal"), AUDIT_LOG)


@asks_service("backup", "audit.003", hint=DATABASE)
def backup() -> Found:
    if settings.ON_LAPTOP:
        yield Debug("None is made of a laptop's data.")
    else:
        yield last("made", Action.BACKUP_MADE, 26, "Run `deploy/backup FOLDER`.")


def last(done: str, action: Action, hours: int, hint: str) -> CheckMessage:
    """When the action was last recorded; a warning if it is more hours ago."""
    entry = AuditEntry.newest(action)
    late = entry is None or timezone.now() - entry.created_at > timedelta(hours=hours)
    text = f"Last {done} {ago(entry.created_at)}." if entry else f"Never {done}."
    return (Warning if late else Info)(text, hint=hint)


def read_metrics() -> Iterator[Metric]:
    """What an alert needs (`config.request.metrics`). The checks have more."""
    entry = AuditEntry.newest(Action.BACKUP_MADE)
    text = "When record_backup was last called; 0 if never"
    timestamp = entry.created_at.timestamp() if entry else 0.0
    yield GaugeMetricFamily("documents_backup_timestamp_seconds", text, timestamp)
    if keys.set_up():
        text = "The age of the oldest audit entry that is not sealed; infinite if that is unknown"
        seconds = state.read().unsealed_seconds
        yield GaugeMetricFamily("documents_audit_unsealed_seconds", text, seconds)


metrics.readers.append(read_metrics)
