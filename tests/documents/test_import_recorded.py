"""What import_documents adds to the audit log: documents, their files, the user and the file."""

import hashlib
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import Action, AuditEntry
from audit.record import record, together
from config.runtime.request_context import actor
from documents.api.parameters import FILE_TYPES
from documents.importing.run import BATCH
from documents.models import Document
from tests.support.factories import Tenant, pdf, uid
from tests.support.inbox import Inbox, Value, completed, sent, signer

ID = str(uid(1))
FIXED: Value = {"id": ID, "recipients": [signer(id=str(uid(2)))]}
DELETED = "2026-03-05T00:00:00Z"


def sha256(inbox: Inbox, name: str) -> str:
    return hashlib.sha256((inbox.folder / name).read_bytes()).hexdigest()


def recorded(inbox: Inbox, tenant: Tenant, *values: Value, title: str = "Lease") -> list[Any]:
    """The entries of an import: of a document its detail, of a file its type and digest.

    The other facts are the same in each.
    """
    last = AuditEntry.objects.latest("id").pk
    inbox.write(*values)
    inbox.run(tenant.workspace)
    from_file = f"; import file: SHA-256 {sha256(inbox, inbox.file.name)}"
    found: list[Any] = []
    for entry in AuditEntry.objects.filter(pk__gt=last).order_by("id"):
        assert (entry.workspace_id, entry.workspace_name) == (tenant.workspace.pk, "Acme")
        assert (entry.document_title, entry.person) == (title, actor())
        assert (entry.address, entry.user_agent, entry.request_id) == ("", "", "")
        if entry.action == Action.DOCUMENT_IMPORTED:
            assert entry.detail.endswith(from_file)
            found.append(entry.detail.removesuffix(from_file))
        elif entry.action == Action.FILE_IMPORTED:
            assert entry.detail == ""
            found.append((entry.file_type, entry.file_sha256))
        else:
            found.append((entry.action, entry.detail))
    return found


def test_import_records_each_document_and_file_that_it_stores(acme: Tenant, inbox: Inbox) -> None:
    files = {name: (name, sha256(inbox, f"{name}.pdf")) for name in FILE_TYPES}
    values = completed(id=ID), sent(), completed(deletedAt=DELETED), sent(deletedAt=DELETED)
    assert recorded(inbox, acme, *values) == [
        *("created, completed", *files.values()),
        *("created", files["original"]),
        *("created, completed, deleted", *files.values()),
        *("created, deleted", files["original"]),
    ]
    assert AuditEntry.objects.filter(document_id=ID).count() == 4


def test_import_records_the_life_of_a_document_and_nothing_else(acme: Tenant, inbox: Inbox) -> None:
    def imported(value: Value) -> list[Any]:
        return recorded(inbox, acme, {**value, **FIXED}, title=value["title"])

    original = ("original", sha256(inbox, "original.pdf"))
    sealed = [(name, sha256(inbox, f"{name}.pdf")) for name in ("signed", "certificate")]
    assert imported(sent()) == ["created", original]
    assert imported(sent()) == []
    inbox.put("original.pdf", pdf("another original", 2))
    other = ("original", sha256(inbox, "original.pdf"))
    assert imported(sent()) == ["changed", other]
    assert imported(sent(deletedAt=DELETED)) == ["deleted"]
    assert imported(sent(title="Lease 2")) == ["restored"]
    assert imported(completed(title="Lease 3")) == ["completed", *sealed]
    assert imported(completed(title="Lease 3")) == []
    changed = completed(title="Lease 3", deletedAt=DELETED, expiresAt=DELETED)
    assert imported(changed) == ["deleted", (Action.DOCUMENT_CHANGED, "expiresAt, deletedAt")]


def test_import_of_many_documents_keeps_few_entries_in_memory_and_adds_all_at_its_end(
    acme: Tenant, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.record.IN_MEMORY", 7)
    values = [sent(id=str(uid(number))) for number in range(BATCH + 5)]
    assert len(recorded(inbox, acme, *values)) == 2 * (BATCH + 5)
    last = Document.objects.latest("original__created_at")
    assert (
        last.original.created_at
        < AuditEntry.objects.get(document_id=uid(0), action=Action.FILE_IMPORTED).created_at
    )


@pytest.mark.usefixtures("db")
def test_entries_together_are_added_at_the_end_with_what_each_one_has() -> None:
    with together():
        record(Action.LOGIN, by="ada@acme.example")
        record(Action.LOG_VERIFIED, by="root", detail="a\tb\\ – \n'")
        assert not AuditEntry.objects.exists()
    found = AuditEntry.objects.order_by("id").values_list("person", "detail", "key_id")
    assert list(found) == [("ada@acme.example", "", None), ("root", "a\tb\\ – \n'", None)]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, ""),
        ({"id": ID.upper(), "createdAt": "2026-03-01T10:00:00+01:00"}, ""),
        ({"title": "New", "completedAt": "2026-03-02T11:00:00Z"}, "title, completedAt"),
        ({"recipients": []}, "recipients"),
        ({"recipients": [signer(id=str(uid(2)), name="Zoe")]}, "recipients"),
        ({"recipients": [*FIXED["recipients"], signer()], "sentAt": None}, "sentAt, recipients"),
    ],
)
def test_import_that_changes_a_complete_document_names_the_fields(
    acme: Tenant, inbox: Inbox, changes: Value, named: str
) -> None:
    inbox.take(acme.workspace, completed(**FIXED))
    again = {**completed(**FIXED), **changes}
    expected = ["changed", (Action.DOCUMENT_CHANGED, named)] if named else []
    assert recorded(inbox, acme, again, title=again["title"]) == expected


def test_import_reads_what_documents_have_in_as_many_queries_as_for_one(
    acme: Tenant, inbox: Inbox
) -> None:
    def queries(count: int) -> int:
        inbox.take(acme.workspace, *(completed(id=str(uid(n))) for n in range(count)))
        inbox.write(*(completed(id=str(uid(n)), title="New") for n in range(count)))
        with CaptureQueriesContext(connection) as captured:
            inbox.run(acme.workspace)
        return sum("audit_auditentry" not in query["sql"] for query in captured)

    assert queries(1) == queries(5)
