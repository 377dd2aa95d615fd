"""check_document_counts finds and fixes wrong counts while others write documents."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from audit.models import AuditEntry
from tests.documents.test_document_counts import changes, exact
from tests.support import factories
from tests.support.factories import Tenant, uid
from workspaces.models import DocumentCount, Workspace

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
