"""import_documents: each problem has its line, document and field; nothing is imported."""

from typing import Any

import pytest
from django.core.management.base import CommandError

from audit.models import AuditEntry
from documents.models import Document
from tests.support import factories
from tests.support.factories import Tenant, uid
from tests.support.inbox import Inbox, Value, objects, rows, sent, signer

ID = str(uid(1))
NAMED = f"document {ID}"
STATUSES = ", ".join(Document.Status.values)


def refused(inbox: Inbox, workspace: Any) -> list[str]:
    """The problems of a file that is refused; fails when anything of it was imported."""

    def stored() -> list[Any]:
        documents = Document.objects.order_by("pk")
        return [objects(), rows(), list(documents.values()), AuditEntry.objects.count()]

    before = stored()
    with pytest.raises(CommandError) as caught:
        inbox.run(workspace)
    assert caught.value.returncode == 1
    assert stored() == before
    first, *problems = str(caught.value).splitlines()
    number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert first == f"{number} in documents.jsonl; nothing was imported."
    return problems


def problems(inbox: Inbox, tenant: Tenant, *values: Value) -> list[str]:
    """The problems of a file with these documents."""
    inbox.write(*values)
    return refused(inbox, tenant.workspace)


def test_import_refuses_an_id_that_a_file_has_twice(acme: Tenant, inbox: Inbox) -> None:
    other = str(uid(2))
    values = [
        sent(id=ID, recipients=[signer(id=other)]),
        sent(recipients=[signer(id=other)]),
        sent(id=ID.upper(), recipients=[]),
        sent(id=other, recipients=[signer(id=ID), signer(id=ID)]),
    ]
    assert problems(inbox, acme, *values) == [
        f"line 2, document Lease, recipients[0].id: {other} is on line 1 already",
        f"line 3, {NAMED}, id: {ID} is on line 1 already",
        f"line 4, document {other}, recipients[1].id: {ID} is on line 4 already",
    ]


def test_import_refuses_an_id_of_another_workspace_and_leaves_its_document_alone(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = factories.document(umbrella.workspace, title="Theirs")
    gone = factories.document(umbrella.workspace, deleted_at=factories.at("2026-01-01 00:00:00"))
    assert problems(inbox, acme, sent(id=str(theirs.pk)), sent(id=str(gone.pk))) == [
        f"line 1, document {theirs.pk}, id: {theirs.pk} belongs to another workspace",
        f"line 2, document {gone.pk}, id: {gone.pk} belongs to another workspace",
    ]


def test_import_refuses_a_recipient_of_another_document(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    ours = factories.recipient(factories.document(acme.workspace))
    theirs = factories.recipient(factories.document(umbrella.workspace))
    assert problems(
        inbox, acme, sent(id=ID, recipients=[signer(id=str(r.pk)) for r in (ours, theirs)])
    ) == [
        f"line 1, {NAMED}, recipients[{number}].id: {r.pk} belongs to a recipient of another "
        "document"
        for number, r in enumerate((ours, theirs))
    ]


def test_import_reports_the_problems_of_all_documents_in_the_order_of_their_lines(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = str(factories.document(umbrella.workspace).pk)
    untitled = sent(createdAt=None)
    del untitled["title"]
    inbox.put("text.pdf", b"Not a PDF.")
    values = [
        sent(id=theirs),
        sent(status="DONE"),
        sent(),
        untitled,
        sent(title="\x1b[31mred\n", recipients=[signer(order=-1)]),
        sent(id=ID, files={"original": "text.pdf"}),
    ]
    inbox.write(*values)
    inbox.file.write_text(inbox.file.read_text() + '{"a": 1, "a": 2}\n{')
    assert refused(inbox, acme.workspace) == [
        f"line 1, document {theirs}, id: {theirs} belongs to another workspace",
        f"line 2, document Lease, status: must be one of {STATUSES}, not 'DONE'",
        "line 4, a document without id and title, createdAt: must be an RFC 3339 date and time "
        "with its offset, such as 2026-03-01T09:30:00Z",
        # Characters that could change a terminal are escaped.
        r"line 5, document \x1b[31mred\n, recipients[0].order: must be a whole number from 0 to "
        "2147483647",
        f"line 6, {NAMED}, files.original: 'text.pdf' is not a PDF",
        "line 7, the field a is given twice",
        "line 8, column 2 is not JSON: Expecting property name enclosed in double quotes",
    ]


def test_import_succeeds_after_one_that_was_refused(acme: Tenant, inbox: Inbox) -> None:
    assert len(problems(inbox, acme, sent(id=ID), sent(id=ID))) == 1
    assert inbox.take(acme.workspace, sent(id=ID))["created"] == 1


@pytest.mark.parametrize("key", ["00000000-0000-4000-8000-00000000dead", "acme", "1", "", "\0"])
def test_import_reports_an_unknown_workspace_in_one_line(inbox: Inbox, key: str, db: None) -> None:
    inbox.write(sent())
    with pytest.raises(CommandError, match=r"\AThere is no workspace with that id\.\Z"):
        inbox.run(key)


@pytest.mark.parametrize(
    ("name", "text"), [("none.json", "No such file or directory"), ("", "Is a directory")]
)
def test_import_reports_an_unreadable_file_in_one_line(
    acme: Tenant, inbox: Inbox, name: str, text: str
) -> None:
    inbox.file = inbox.folder / name
    with pytest.raises(CommandError) as caught:
        inbox.run(acme.workspace)
    assert str(caught.value) == f"{inbox.file} cannot be read: {text}."
