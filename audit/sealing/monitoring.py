"""Whether the audit log is sealed and intact: for `/readyz`, for metrics, and for operators."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from audit.sealing import state
from config.console.system import Fact, time_or

VERIFIED_DAYS = 8  # as in deploy/prometheus-alerts.yaml; the timer runs every week


class NotSealed(Exception):
    """Entries wait to be sealed for too long, or the last verification has failed."""


def check_seals() -> None:
    """Raises an exception unless the log is sealed and, as far as is known, intact."""
    if warnings := state.read_apart().warnings():
        raise NotSealed(" ".join(warnings))


def read_metrics(connection: BaseDatabaseWrapper) -> Iterator[Metric]:
    """Each process reads them from the database (`config.runtime.metrics`)."""
    found = state.read(connection)
    gauges = (
        (
            "unsealed_seconds",
            "The age of the oldest audit entry that is not sealed",
            found.unsealed_seconds or 0,
        ),
        ("sealed_entries", "Audit entries that are sealed", found.sealed),
        (
            "foreign",
            "1 if somebody else than the sealer has written to the tree of the audit log",
            int(bool(found.foreign)),
        ),
        (
            "verification_failed",
            "1 if a verification found that the audit log is damaged, until that is settled",
            int(found.damaged),
        ),
        (
            "verified_timestamp_seconds",
            "When the audit log was last verified, whatever was found; 0 if never",
            found.verified_at.timestamp() if found.verified_at else 0.0,
        ),
    )
    for name, text, value in gauges:
        yield GaugeMetricFamily(f"documents_audit_{name}", text, value)


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
            found.foreign or (f"not checked: {found.unverified}" if found.unverified else "valid"),
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
