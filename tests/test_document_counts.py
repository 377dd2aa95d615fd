"""The counts of /me are kept, not counted, and exact after whatever happens to documents."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import import_module
from random import Random

import pytest
from django.db import connection, transaction
from django.utils import timezone

from documents.counts.triggers import FOLD_EVERY
from documents.models import Document
from tests import factories
from tests.factories import Tenant
from workspaces.models import DocumentCount, Workspace
from workspaces.serializers import Counts
from workspaces.views import document_counts


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


def test_document_counts_follow_many_documents_in_one_statement(
    acme: Tenant, umbrella: Tenant
) -> None:
    for tenant in (acme, umbrella):
        factories.listed(tenant.workspace, 40, status=lambda n: ("DRAFT", "SENT", "VIEWED")[n % 3])
    assert document_counts(acme.workspace.id) == Counts(draft=14, sent=13, completed=0)
    Document.objects.filter(status="VIEWED").update(status="SENT")
    assert document_counts(acme.workspace.id) == Counts(draft=14, sent=26, completed=0)
    Document.objects.filter(workspace=acme.workspace, status="DRAFT").delete()
    assert exact(acme)
    assert exact(umbrella)


def test_document_counts_do_not_follow_what_is_rolled_back(acme: Tenant) -> None:
    with transaction.atomic():
        factories.document(acme.workspace, "DRAFT")
        assert document_counts(acme.workspace.id).draft == 1
        transaction.set_rollback(True)
    assert document_counts(acme.workspace.id).draft == 0


def test_document_counts_need_few_rows_however_many_changes_there_were(acme: Tenant) -> None:
    document = factories.document(acme.workspace, "DRAFT")
    for number in range(40 * FOLD_EVERY):
        status = ("SENT", "DRAFT")[number % 2]
        Document.objects.filter(pk=document.pk).update(status=status)
    # Two rows a change, folded about once in FOLD_EVERY: never once in 15 times as many.
    assert DocumentCount.objects.filter(workspace_id=acme.workspace.id).count() < 30 * FOLD_EVERY
    assert exact(acme)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("as_owner")
def test_document_counts_of_an_emptied_table_are_nothing(acme: Tenant) -> None:
    factories.document(acme.workspace, "DRAFT")
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE documents_document CASCADE")
    assert exact(acme)


def test_document_counts_of_earlier_documents_are_made_by_the_migration(acme: Tenant) -> None:
    factories.listed(acme.workspace, 9, status=lambda n: ("DRAFT", "SENT", "VIEWED")[n % 3])
    deleted = factories.document(acme.workspace, "DRAFT", deleted_at=timezone.now())
    DocumentCount.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(import_module("documents.migrations.0003_document_counts").COUNT)
    assert deleted.deleted_at
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


@pytest.mark.django_db(transaction=True)
def test_document_counts_of_eight_writers_lose_nothing_and_never_deadlock(acme: Tenant) -> None:
    factories.listed(acme.workspace, 50, status=lambda n: ("DRAFT", "SENT")[n % 2])
    with ThreadPoolExecutor(8) as pool:
        writers = [pool.submit(changes, acme.workspace, seed) for seed in range(8)]
        for writer in as_completed(writers):
            writer.result()
    assert exact(acme)
