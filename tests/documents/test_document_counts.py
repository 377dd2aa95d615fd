"""The counts of /me are kept, not counted, and exact after whatever happens to documents."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import StringIO
from random import Random
from typing import Any
from uuid import UUID

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

FOLD_EVERY = 100  # changes, on average (documents/triggers.sql)
FOLDED = len(Document.Status)  # rows of a workspace at most, after folding
MANY = 16 * FOLD_EVERY  # changes: that none of them folds has a chance of 1 in 10^7


def document_counts(workspace_id: UUID) -> Counts:
    """What /me says."""
    return counts.counts(workspace_id)


def counted(workspace: Workspace) -> Counts:
    """What /me should say, counted."""
    standing = Document.objects.filter(workspace=workspace, deleted_at=None)
    found = Counter(standing.values_list("status", flat=True))
    return Counts(draft=found["DRAFT"], sent=found["SENT"], completed=found["COMPLETED"])


def exact(tenant: Tenant) -> bool:
    said = document_counts(tenant.workspace.id)
    returned = Counts(**tenant.get("/me").json()["data"]["documents"])
    return said == counted(tenant.workspace) == returned


def test_document_counts_follow_each_change_of_a_document(acme: Tenant, umbrella: Tenant) -> None:
    assert exact(acme)
    document = factories.document(acme.workspace, "DRAFT")
    assert document_counts(acme.workspace.id) == Counts(draft=1, sent=0, completed=0)
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
    assert document_counts(umbrella.workspace.id) == Counts(draft=1, sent=0, completed=0)
    document.delete()
    assert exact(umbrella)


def rows(*tenants: Tenant) -> int:
    """How many rows /me sums up."""
    ids = [tenant.workspace.id for tenant in tenants]
    return DocumentCount.objects.filter(workspace_id__in=ids).count()


def many(tenant: Tenant, count: int = MANY, **fields: str) -> None:
    """Many documents, in one statement, like one that exists."""
    document = factories.document(tenant.workspace, "DRAFT")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH file AS (
                INSERT INTO documents_storedfile (object_key, size, sha256, created_at)
                SELECT gen_random_uuid()::text, 1, '', now() FROM generate_series(1, %s)
                RETURNING id
            )
            INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
                file_size, signing_order, created_at, original_id)
            SELECT gen_random_uuid(), workspace_id, title, status, file_name, page_count,
                file_size, signing_order, created_at, file.id
            FROM documents_document AS document CROSS JOIN file WHERE document.id = %s
            """,
            [count, document.pk],
        )


def test_document_counts_are_not_written_when_other_fields_change(acme: Tenant) -> None:
    documents = factories.listed(acme.workspace, 3, status=lambda n: ("DRAFT", "SENT")[n % 2])
    before = set(DocumentCount.objects.values_list("pk", flat=True))
    Document.objects.update(title="Renamed", sent_at=timezone.now())
    for document in documents:
        document.save()
    assert set(DocumentCount.objects.values_list("pk", flat=True)) == before
    Document.objects.filter(pk=documents[0].pk).update(deleted_at=timezone.now())
    between = set(DocumentCount.objects.values_list("pk", flat=True))
    assert between != before
    Document.objects.filter(pk=documents[0].pk).update(deleted_at=timezone.now(), status="SENT")
    assert set(DocumentCount.objects.values_list("pk", flat=True)) == between


def test_document_counts_see_each_change_since_no_trigger_runs_before(db: None) -> None:
    """What a BEFORE trigger sets is not among the columns that the statement sets."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT tgname FROM pg_trigger
            WHERE tgrelid = 'documents_document'::regclass
                AND pg_get_triggerdef(oid) LIKE '% BEFORE %'
        """)
        assert cursor.fetchall() == []


@pytest.mark.slow
def test_document_counts_need_few_rows_after_one_statement_that_changes_many_documents(
    acme: Tenant, umbrella: Tenant
) -> None:
    for tenant in (acme, umbrella):
        many(tenant)
    Document.objects.update(status="SENT")
    assert rows(acme) <= FOLDED
    assert rows(umbrella) <= FOLDED
    Document.objects.filter(workspace=acme.workspace).update(workspace=umbrella.workspace)
    assert rows(acme, umbrella) <= 2 * FOLDED
    assert document_counts(umbrella.workspace.id) == Counts(
        draft=0, sent=2 * (MANY + 1), completed=0
    )
    assert exact(acme)


@pytest.mark.django_db(transaction=True)
def test_document_counts_are_folded_beside_a_transaction_that_is_folding(acme: Tenant) -> None:
    """It neither stops others from folding their rows, nor is there anything lost or twice."""
    document = factories.document(acme.workspace, "DRAFT")
    with closing(connection.copy()) as apart, apart.cursor() as other:
        other.execute("BEGIN")
        other.execute("SELECT workspaces_fold_counts(ARRAY[%s])", [acme.workspace.id])
        locked = rows(acme)
        DocumentCount.objects.bulk_create(
            DocumentCount(workspace_id=acme.workspace.id, status="DRAFT", count=change)
            for change in (1, -1) * counts.MANY
        )
        Document.objects.filter(pk=document.pk).update(status="SENT")
        counts.fold()
        assert rows(acme) <= locked + FOLDED
        assert exact(acme)
        other.execute("COMMIT")
    assert exact(acme)
    counts.fold()
    assert exact(acme)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_document_counts_follow_transactions_that_see_one_state_of_the_database(
    acme: Tenant, level: str
) -> None:
    many(acme)
    drafts = Document.objects.filter(status="DRAFT")
    gone = drafts[0]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        assert exact(acme)
        with closing(connection.copy()) as apart, apart.cursor() as other:
            other.execute("DELETE FROM documents_document WHERE id = %s", [gone.pk])
            other.execute("SELECT workspaces_fold_counts(ARRAY[%s])", [acme.workspace.id])
        assert drafts.exclude(pk=gone.pk).update(status="SENT") == MANY
        assert document_counts(acme.workspace.id) == Counts(draft=1, sent=MANY, completed=0)
    assert document_counts(acme.workspace.id) == Counts(draft=0, sent=MANY, completed=0)
    assert exact(acme)
    assert rows(acme) > MANY  # such a transaction does not fold
    counts.fold()
    assert rows(acme) <= FOLDED
    assert exact(acme)


def changes(workspace: Workspace, seed: int) -> None:
    """What one of several writers does at once: new documents, changes, deletions, rollbacks."""
    chosen = Random(seed)  # noqa: S311
    documents = list(Document.objects.filter(workspace=workspace))
    try:
        for _ in range(60):
            with transaction.atomic():
                # In any order: writers that lock counters would wait for each other in a ring.
                for document in chosen.sample(documents, 2):
                    status = chosen.choice(("DRAFT", "SENT", "VIEWED"))
                    mine = Document.objects.filter(pk=document.pk).select_for_update(
                        skip_locked=True
                    )
                    if mine.exists():
                        mine.update(status=status)
                transaction.set_rollback(chosen.random() < 0.1)
            factories.listed(workspace, chosen.randrange(1, 4), status=lambda n: "SENT")
    finally:
        connection.close()


# --- check_document_counts

WRITERS = 4
MENDED_IN_BETWEEN = 10  # times


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


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_check_document_counts_is_exact_while_others_write(acme: Tenant) -> None:
    factories.listed(acme.workspace, 50, status=lambda n: ("DRAFT", "SENT")[n % 2])
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(changes, acme.workspace, seed) for seed in range(WRITERS)]
        rounds = 0
        while rounds < MENDED_IN_BETWEEN or not all(writer.done() for writer in writers):
            add_wrongly(acme.workspace, "SENT", -3)
            [found], status = check("--fix")
            assert (found["stored"] - found["counted"], status) == (-3, 0)
            assert check() == ([], 0)
            rounds += 1
        for writer in writers:
            writer.result()
    assert exact(acme)


@pytest.mark.django_db(transaction=True)
def test_check_document_counts_waits_for_no_writer(acme: Tenant) -> None:
    """And what a writer has not committed yet is neither lost nor counted twice."""
    factories.document(acme.workspace, "DRAFT")
    add_wrongly(acme.workspace, "SENT", 5)
    written, fixed = threading.Event(), threading.Event()

    def write() -> bool:
        try:
            with transaction.atomic():
                factories.document(acme.workspace, "SENT")
                written.set()
                return fixed.wait(10)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(write)
        assert written.wait(10)
        assert check("--fix") == ([difference(acme.workspace, "SENT", 5, 0)], 0)
        fixed.set()
        assert writer.result()
    assert exact(acme)
    assert check() == ([], 0)
