"""The state of the log and of backups: for `/readyz`, metrics and operators."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.sealing import laptop, state
from config.console.system import Fact, time_or

VERIFIED_DAYS = 8  # as in deploy/prometheus-alerts.yaml; the timer runs every week
BACKUP_HOURS = 26  # a daily one may be a little late
BACK_UP = "Run: deploy/backup FOLDER, every day"


class NotSealed(Exception):
    """Entries wait to be sealed for too long, or the last verification has failed."""


def check_seals() -> None:
    """Raises an exception unless the log is sealed and, as far as is known, intact."""
    # The thread does nothing else, so it keeps no connection.
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as connection:
        if warnings := state.read(connection).warnings():
            raise NotSealed(" ".join(warnings))


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Each process reads them from the database (`config.runtime.metrics`)."""
    with connection.cursor() as cursor:
        cursor.execute(state.newest(Action.BACKUP_MADE))
        [backup] = cursor.fetchone() or [None]
    found = state.read(connection)
    gauges: dict[str, tuple[str, float]] = {
        "backup_timestamp_seconds": (
            "When record_backup was last called; 0 if never",
            _timestamp(backup),
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


def read_backup() -> list[Fact]:
    """When `manage.py record_backup` was last called; deploy/backup does so."""
    newest = AuditEntry.objects.filter(action=Action.BACKUP_MADE).order_by(*NEWEST_FIRST).first()
    if newest is None and laptop.provided():
        return [Fact("Last backup", "none: the data of a laptop is not backed up")]
    if newest is None:
        return [Fact("Last backup", "none is recorded", "warn", BACK_UP)]
    late = timezone.now() - newest.created_at > timedelta(hours=BACKUP_HOURS)
    return [
        Fact("Last backup", time_or(newest.created_at, ""), "warn" if late else "ok", BACK_UP),
        Fact("It has", newest.detail or "no description"),
    ]


def read_log() -> list[Fact]:
    """Whether the log is sealed and verified."""
    found = state.read()
    age = found.unsealed_seconds
    waits = "none" if age is None else f"{age:,.0f} s"
    limit = timezone.now() - timedelta(days=VERIFIED_DAYS)
    verified = found.verified_at is not None and found.verified_at > limit
    return [
        Fact("Sealed entries", f"{found.sealed:,}"),
        Fact(
            "Signatures of checkpoints",
            found.foreign
            or (f"not checked: {found.unverified.rstrip('.')}" if found.unverified else "valid"),
            "bad" if found.foreign else "warn" if found.unverified else "ok",
            "See docs/reference.md, and: deploy/manage verify_audit" if found.foreign else "",
        ),
        Fact(
            "The oldest entry that waits for its seal",
            waits,
            "bad" if found.late else "ok",
            "Look at: journalctl -u documents-api-seal",
        ),
        Fact(
            "Last verification",
            time_or(found.verified_at, "never"),
            "ok" if verified else "warn",
            "Run: deploy/manage verify_audit; documents-api-verify.timer does it every week",
        ),
        Fact(
            "The log was found",
            "damaged" if found.damaged else "intact" if found.verified_at else "not known",
            "bad" if found.damaged else "ok" if found.verified_at else "",
            "First change nothing, and read The audit log is sealed in docs/reference.md",
        ),
    ]
