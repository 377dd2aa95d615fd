"""import_documents: each problem has its line and field; nothing is imported."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import connection, transaction

from audit.models import AuditEntry
from documents import pages
from documents.importing.problems import SHOWN_LENGTH
from documents.models import Document
from tests.support import factories
from tests.support.database import waiting_for_lock
from tests.support.factories import Tenant, at, pdf, uid
from tests.support.inbox import Inbox, Value, completed, objects, rows, sent, signer
from tests.support.server import eventually

ID = str(uid(1))
SEALED = "the files of a complete document are sealed; an import does not replace or remove them"


def problems(inbox: Inbox, tenant: Tenant, *values: Value, more: str = "") -> list[str]:
    """The problems of a file with these documents; fails if anything of it was imported."""

    def stored() -> list[Any]:
        documents = Document.objects.order_by("pk")
        return [objects(), rows(), list(documents.values()), AuditEntry.objects.count()]

    inbox.write(*values)
    inbox.file.write_text(inbox.file.read_text() + more)
    before = stored()
    with pytest.raises(CommandError) as caught:
        inbox.run(tenant.workspace)
    assert caught.value.returncode == 1
    assert stored() == before
    first, *problems = str(caught.value).splitlines()
    number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert first == f"{number} in documents.jsonl; nothing was imported."
    return problems


def test_import_refuses_an_id_that_a_file_has_twice(acme: Tenant, inbox: Inbox) -> None:
    other = str(uid(2))
    values = [
        sent(id=ID, recipients=[signer(id=other)]),
        sent(recipients=[signer(id=other)]),
        sent(id=ID.upper(), recipients=[]),
        sent(id=other, recipients=[signer(id=ID), signer(id=ID)]),
    ]
    assert problems(inbox, acme, *values) == [
        f"line 2, recipients[0].id: {other} is on line 1 already",
        f"line 3, id: {ID} is on line 1 already",
        f"line 4, recipients[1].id: {ID} is on line 4 already",
    ]
    assert inbox.take(acme.workspace, values[0])["created"] == 1


def test_import_refuses_ids_of_another_workspace_and_of_recipients_of_other_documents(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = factories.document(umbrella.workspace, title="Theirs")
    gone = factories.document(umbrella.workspace, deleted_at=at("2026-01-01 00:00:00"))
    people = [
        factories.recipient(factories.document(acme.workspace)),
        factories.recipient(theirs),
    ]
    values = [sent(id=str(theirs.pk)), sent(id=str(gone.pk))]
    values += [sent(recipients=[signer(), signer(id=str(each.pk))]) for each in people]
    assert problems(inbox, acme, *values) == [
        f"line 1, id: {theirs.pk} belongs to another workspace",
        f"line 2, id: {gone.pk} belongs to another workspace",
        *(
            f"line {line}, recipients[1].id: {each.pk} belongs to a recipient of another document"
            for line, each in enumerate(people, 3)
        ),
    ]


def test_import_reports_the_problems_of_all_documents_in_the_order_of_their_lines(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = str(factories.document(umbrella.workspace).pk)
    inbox.put("text.pdf", b"Not a PDF.")
    values = [
        sent(id=theirs),
        sent(status="DONE\x1b"),
        sent(),
        sent(recipients=[signer(order=-1)]),
        sent(id=ID, files={"original": "text.pdf"}),
    ]
    assert problems(inbox, acme, *values, more="{") == [
        f"line 1, id: {theirs} belongs to another workspace",
        # Characters that could change a terminal are escaped.
        r"line 2, status: Invalid enum value 'DONE\x1b'",
        "line 4, recipients[0].order: Expected `int` >= 0",
        "line 5, files.original: 'text.pdf' is not a PDF that can be read "
        "(PdfStreamError('Stream has ended unexpectedly'))",
        "line 6, Input data was truncated",
    ]


BOMBS = {  # which pypdf reads for half a minute, or with more memory than their size
    "slow.pdf": b"%PDF-1.4\n" + b"1 0 obj\n" * 6_000_000,
    "large.pdf": b"%PDF-1.4\n" + b" " * 90_000_000,
}


def test_import_ends_with_a_file_that_takes_too_much_and_names_it_beside_the_others(
    acme: Tenant, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (pages.SECONDS, pages.MEGABYTES) == (10, 100)
    monkeypatch.setattr(pages, "SECONDS", 3)
    long = "x" * 300  # too long for a file's name
    for name, content in BOMBS.items():
        inbox.put(name, content)
    names = ["slow.pdf", "original.pdf", "large.pdf", long, "none.pdf"]
    started = time.monotonic()
    found = problems(inbox, acme, *(sent(files={"original": name}) for name in names))
    assert time.monotonic() - started < 12
    limits = "cannot be read within 3 seconds and 100 MB of memory"
    assert found == [
        f"line 1, files.original: 'slow.pdf' {limits}",
        f"line 3, files.original: 'large.pdf' {limits}",
        "line 4, " + f"files.original: '{long}"[:SHOWN_LENGTH],
        "line 5, files.original: 'none.pdf' is not there, or is not a file",
    ]


@pytest.mark.parametrize("field", ["title", "fileName"])
def test_import_refuses_an_api_key_in_a_text_without_repeating_it(
    acme: Tenant, inbox: Inbox, field: str
) -> None:
    values = [
        sent(**{field: f"Lease {acme.raw}"}),
        sent(status=f"x {acme.raw}"),
        sent(files={"original": f"{acme.raw}.pdf"}),
    ]
    public = f"{acme.raw[:12]}…"
    assert problems(inbox, acme, *values) == [
        f"line 1, {field}: must not contain an API key; if it is in use, revoke it",
        f"line 2, status: Invalid enum value 'x {public}'",
        f"line 3, files.original: '{public}.pdf' is not there, or is not a file",
    ]


def test_import_accepts_the_public_part_of_a_key(acme: Tenant, inbox: Inbox) -> None:
    inbox.take(acme.workspace, sent(title=f"About {acme.raw[:12]}"))
    assert Document.objects.get().title == f"About {acme.raw[:12]}"


@pytest.mark.parametrize("key", ["00000000-0000-4000-8000-00000000dead", "acme", "\0"])
def test_import_reports_an_unknown_workspace_in_one_line(inbox: Inbox, key: str, db: None) -> None:
    inbox.write(sent())
    with pytest.raises(
        CommandError,
        match=r"\A(There is no workspace with that id\.|Error: .* invalid UUID value: .*)\Z",
    ):
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


def test_import_refuses_to_replace_or_remove_a_sealed_file(acme: Tenant, inbox: Inbox) -> None:
    before = [completed(id=str(uid(number))) for number in (1, 3, 4)]
    inbox.take(acme.workspace, *before)
    inbox.put("other.pdf", pdf("another", 2))
    files = before[0]["files"]
    assert problems(
        inbox,
        acme,
        sent(),
        before[0] | {"files": files | {"signed": "other.pdf"}},
        before[1] | {"files": files | {"original": "other.pdf", "certificate": "other.pdf"}},
        sent(id=before[2]["id"]),
    ) == [
        f"line 2, files.signed: {SEALED}",
        f"line 3, files.original, files.certificate: {SEALED}",
        f"line 4, files.signed, files.certificate: {SEALED}",
    ]


@pytest.mark.django_db(transaction=True)
def test_import_does_not_replace_files_of_a_document_that_becomes_complete_meanwhile(
    acme: Tenant, inbox: Inbox
) -> None:
    old = factories.document(acme.workspace, id=ID)
    sealed = [factories.stored(pdf(name)) for name in ("signed", "certificate")]
    inbox.write(completed(id=ID))

    def import_it() -> str:
        try:
            inbox.run(acme.workspace)
        except CommandError as exc:
            return str(exc)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            now = Document.objects.select_for_update(of=("self",)).get()
            now.status, now.completed_at = "COMPLETED", at("2026-03-03 12:00:00")
            now.signed, now.certificate = sealed
            now.save()
            importing = pool.submit(import_it)
            assert eventually(waiting_for_lock)
        assert importing.result() == (
            "1 problem in documents.jsonl; nothing was imported.\n"
            f"line 1, files.signed, files.original, files.certificate: {SEALED}"
        )
    now.refresh_from_db()
    assert (now.original, now.signed, now.certificate) == (old.original, *sealed)
    assert now.original.object_key in objects()
