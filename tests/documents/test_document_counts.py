"""The counts of /me are kept, not counted, and exact after whatever happens to documents."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from audit.models import AuditEntry
from documents.models import Document
from tests.support import factories
from tests.support.factories import Tenant, uid
from workspaces import counts
from workspaces.models import DocumentCount, Workspace
from workspaces.serializers import Counts


def counted(workspace: Workspace) -> Counts:
    """What /me should say, counted."""
    standing = Document.objects.filter(workspace=workspace, deleted_at=None)
    found = Counter(standing.values_list("status", flat=True))
    return Counts(draft=found["DRAFT"], sent=found["SENT"], completed=found["COMPLETED"])


def exact(tenant: Tenant) -> bool:
    said = counts.counts(tenant.workspace.id)
    returned = Counts(**tenant.get("/me").json()["data"]["documents"])
    return said == counted(tenant.workspace) == returned


def test_document_counts_follow_each_change_of_a_document(acme: Tenant, umbrella: Tenant) -> None:
    assert exact(acme)
    document = factories.document(acme.workspace, "DRAFT")
    assert counts.counts(acme.workspace.id) == Counts(draft=1, sent=0, completed=0)
    for change in (
        {"status": "SENT"},
        {"status": "VIEWED"},
        {"title": "Renamed"},
        {"status": "SENT"},
        {"deleted_at": timezone.now()},
        {"status": "DRAFT"},
        {"deleted_at": None},
        {"workspace": umbrella.workspace},
    ):
        Document.objects.filter(pk=document.pk).update(**change)
        assert exact(acme)
        assert exact(umbrella)
    assert counts.counts(umbrella.workspace.id) == Counts(draft=1, sent=0, completed=0)
    document.delete()
    assert exact(umbrella)


def rows(*tenants: Tenant) -> int:
    """How many rows /me sums up."""
    ids = [tenant.workspace.id for tenant in tenants]
    return DocumentCount.objects.filter(workspace_id__in=ids).count()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_document_counts_follow_transactions_that_see_one_state_of_the_database(
    acme: Tenant, level: str
) -> None:
    factories.listed(acme.workspace, 60, status=lambda n: "DRAFT")
    drafts = Document.objects.filter(status="DRAFT")
    gone, remaining = drafts[0], drafts.exclude(pk=drafts[0].pk)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        assert exact(acme)
        with ThreadPoolExecutor() as pool:  # another connection
            pool.submit(apart, gone.delete, counts.fold).result()
        assert remaining.update(status="SENT") == 59
        assert counts.counts(acme.workspace.id) == Counts(draft=1, sent=59, completed=0)
    assert counts.counts(acme.workspace.id) == Counts(draft=0, sent=59, completed=0)
    assert exact(acme)


def apart(*steps: Callable[[], object]) -> None:
    """Does this in a thread, which has a connection of its own."""
    with closing(connection):
        for step in steps:
            step()


@pytest.mark.django_db(transaction=True)
def test_document_counts_are_folded_in_batches_beside_a_transaction_that_is_folding(
    acme: Tenant, umbrella: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither stops others from folding their rows, nor is there anything lost or twice."""
    monkeypatch.setattr(counts, "BATCH", 40)
    for tenant in (acme, umbrella):
        factories.document(tenant.workspace, "DRAFT")
    DocumentCount.objects.bulk_create(
        DocumentCount(workspace_id=tenant.workspace.id, status="DRAFT", count=change)
        for tenant in (acme, umbrella)
        for change in (1, -1) * 30
    )
    with transaction.atomic():
        assert counts.fold()
        before = rows(acme, umbrella)
        with ThreadPoolExecutor() as pool:
            pool.submit(apart, counts.fold).result()
        assert rows(acme, umbrella) < before
    assert exact(acme)
    while counts.fold():
        assert exact(acme)
    assert rows(acme) <= counts.MANY
    assert rows(umbrella) <= counts.MANY
    assert exact(umbrella)


# --- check_document_counts


def check(*words: str) -> tuple[list[dict[str, Any]], int]:
    """The differences that the command tells, and its exit status."""
    out = StringIO()
    status = 0
    try:
        call_command("check_document_counts", *words, stdout=out, stderr=StringIO())
    except CommandError as exc:
        status = exc.returncode
    return [json.loads(line) for line in out.getvalue().splitlines()], status


def difference(workspace: Workspace, status: str, stored: int, counted: int) -> dict[str, Any]:
    return {"workspace": str(workspace.id), "status": status, "stored": stored, "counted": counted}


def add_wrongly(workspace: Workspace, status: str, count: int) -> None:
    DocumentCount.objects.create(workspace_id=workspace.id, status=status, count=count)


def test_check_document_counts_reports_each_difference_and_changes_it_only_when_asked(
    acme: Tenant, umbrella: Tenant
) -> None:
    factories.listed(acme.workspace, 5, status=lambda n: ("DRAFT", "VIEWED")[n % 2])
    factories.listed(umbrella.workspace, 3, status=lambda n: "SENT")
    add_wrongly(acme.workspace, "DRAFT", 2)
    add_wrongly(acme.workspace, "EXPIRED", 1)
    DocumentCount.objects.filter(workspace_id=umbrella.workspace.id).delete()
    gone = Workspace(id=uid(9, 1))
    add_wrongly(gone, "SENT", 7)
    differences = [
        difference(acme.workspace, "DRAFT", 5, 3),
        difference(acme.workspace, "EXPIRED", 1, 0),
        difference(umbrella.workspace, "SENT", 0, 3),
        difference(gone, "SENT", 7, 0),
    ]
    assert check() == (differences, 1)
    assert check() == (differences, 1)
    recorded = AuditEntry.objects.filter(action="command.run")
    assert not recorded.exists()
    assert check("--fix") == (differences, 0)
    assert recorded.get().detail == f"Counts corrected: {len(differences)}"
    assert check() == ([], 0)
    assert exact(acme)
    assert exact(umbrella)


@pytest.mark.django_db(transaction=True)
def test_check_document_counts_waits_for_no_writer(acme: Tenant) -> None:
    """And what a writer has not committed yet is neither lost nor counted twice."""
    factories.document(acme.workspace, "DRAFT")
    add_wrongly(acme.workspace, "SENT", 5)
    written, fixed = threading.Event(), threading.Event()

    def write() -> bool:
        with closing(connection), transaction.atomic():
            factories.document(acme.workspace, "SENT")
            written.set()
            return fixed.wait(10)

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        assert written.wait(10)
        assert check("--fix") == ([difference(acme.workspace, "SENT", 5, 0)], 0)
        fixed.set()
        assert writer.result()
    assert exact(acme)
    assert check() == ([], 0)
