"""Seals the tests' audit log, as `seal_audit` does it."""

import contextlib
from datetime import timedelta

from django.db import connection

from audit.models import Action, AuditEntry, Checkpoint, Leaf
from audit.record import record
from audit.sealing.keys import PrivateKey
from audit.sealing.note import Statement
from audit.sealing.sealer import Sealer
from audit.sealing.tree import StoredTree
from tests.support import roles
from tests.support.database import without_triggers

KEY = PrivateKey.generate("documents.example.com/audit")
VARIABLES = {"AUDIT_SIGNING_KEY": KEY.encode(), "AUDIT_PUBLIC_KEYS": str(KEY.public)}


def written(count: int = 1) -> list[AuditEntry]:
    """Entries of this moment, by their ids."""
    for _ in range(count):
        record(Action.LOGIN, by="ada@acme.example")
    return list(AuditEntry.objects.order_by("-id")[:count])[::-1]


def seal(sealer: Sealer | None = None) -> int:
    """Seals all entries; returns how many.

    Within a transaction of the test, its role has to be the owner.
    """
    with contextlib.nullcontext() if connection.in_atomic_block else roles.as_sealer():
        return (sealer or Sealer(KEY, [], None)).seal()


def sealed_ids() -> list[int]:
    """The ids of the sealed entries, in the tree's order."""
    return list(Leaf.objects.order_by("index").values_list("entry_id", flat=True))


def check_tree() -> None:
    """Every leaf has its index and every checkpoint the root of its tree."""
    indexes = list(Leaf.objects.order_by("index").values_list("index", flat=True))
    assert indexes == list(range(len(indexes)))
    tree = StoredTree()
    for checkpoint in Checkpoint.objects.all():
        statement = Statement.opened(checkpoint.note, [KEY.public])
        assert statement.size == checkpoint.size
        assert statement.root == tree.frontier(checkpoint.size).root()


def complete_to() -> int:
    """The horizon after one more seal. A transaction of another test's database delays it."""
    written()
    seal()
    newest = Checkpoint.objects.order_by("-size")[0]
    return Statement.unchecked(newest.note).horizon.complete_to


def as_owner(*statements: str) -> None:
    """Changes what only the owner can change, with the triggers switched off."""
    with roles.as_owner(), without_triggers(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def forget(size: int) -> None:
    """The database is as it was when the log had so many leaves."""
    as_owner(
        f"DELETE FROM audit_auditentry USING audit_leaf WHERE entry_id = id AND index >= {size}",
        f"DELETE FROM audit_leaf WHERE index >= {size}",
        f"DELETE FROM audit_checkpoint WHERE size > {size}",
    )


def verified() -> None:
    record(Action.LOG_VERIFIED, by="root", detail="0 entries")


def found_damaged() -> None:
    record(Action.LOG_DAMAGED, by="root", detail="1 problem")


def grow_older(entry: AuditEntry, **by: float) -> None:
    """Dates an entry back; the connection must be the owner's."""
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE audit_auditentry SET created_at = created_at - make_interval(secs => %s)"
            " WHERE id = %s",
            [timedelta(**by).total_seconds(), entry.pk],
        )
