"""Seals the tests' audit log, as `seal_audit` does it."""

from datetime import timedelta

from django.db import connection

from audit import record
from audit.models import AuditEntry
from audit.tree.note import PrivateKey
from audit.tree.sealer import Sealer
from tests.database import without_triggers

KEY = PrivateKey.generate("tests.example/audit")
VARIABLES = {"AUDIT_SIGNING_KEY": KEY.encode(), "AUDIT_PUBLIC_KEYS": str(KEY.public)}


def written(count: int = 1) -> list[AuditEntry]:
    """Entries of this moment, by their ids."""
    for _ in range(count):
        record.logged_in(person="ada@acme.example")
    return list(AuditEntry.objects.order_by("-id")[:count])[::-1]


def seal() -> int:
    """Seals all entries; returns how many."""
    return Sealer(KEY, [], None).seal()


def verified() -> None:
    """A verification has found the log intact."""
    record.log_verified(person="root", detail="")


def found_damaged() -> None:
    """A verification has found the log damaged."""
    record.log_damaged(person="root", detail="")


def grow_older(entry: AuditEntry, **by: float) -> None:
    """Dates an entry back; the connection must be the owner's.

    Args:
        by: of timedelta.
    """
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE audit_auditentry SET created_at = created_at - make_interval(secs => %s)"
            " WHERE id = %s",
            [timedelta(**by).total_seconds(), entry.pk],
        )
