"""import_documents: what gets in, how what is there is updated, and what is refused."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection, transaction

from audit.models import Action, AuditEntry
from config.request.context import actor
from documents import models
from documents.importing import files, importer
from documents.models import Document, DocumentStatus, Recipient, StoredFile
from tests.support import factories
from tests.support.database import waiting_for_lock
from tests.support.factories import Tenant, at, pdf, uid
from tests.support.inbox import Inbox, Value, completed, objects, rows, sent, signer
from tests.support.server import eventually

ID = str(uid(1))
BATCH = 10  # lines here, so that a file is soon longer


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "BATCH", BATCH)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def many(count: int, **fields: Any) -> list[Value]:
    return [sent(title=f"Lease {number}", **fields) for number in range(count)]


def downloads(tenant: Tenant, value: Value) -> dict[str, bytes]:
    types = ["original"]
    types += ["signed", "certificate"] if value["status"] == "COMPLETED" else []
    path = f"/documents/{value['id']}/download?type="
    return {each: tenant.get(path + each).body for each in types}


def one_of_each(tenant: Tenant) -> None:
    """A document of each status, a recipient of each role and status, and odd texts."""
    for number, status in enumerate(DocumentStatus.values):
        document = factories.document(
            tenant.workspace,
            status,
            title=f"Σύμβαση № {number} – “Łódź” \U0001f58b",
            file_name=f"договор {number}.pdf",
            page_count=number + 1,
            created_at=at("2026-03-01 09:00:00.123456"),
            expires_at=at("2026-12-31 23:59:59.999999"),
        )
        for order, role in enumerate(models.RecipientRole.values):
            reached = models.RecipientStatus.values[(number + order) % 7]
            reason = "Nein,\n\tdanke" if number % 2 else None
            factories.recipient(document, role, reached, order=order, decline_reason=reason)


@pytest.mark.parametrize("gone", [True, False], ids=["into an empty workspace", "over itself"])
def test_import_accepts_what_the_api_lists_and_lists_the_same(
    acme: Tenant, inbox: Inbox, gone: bool
) -> None:
    one_of_each(acme)
    before = acme.get("/documents")
    values = before.json()["data"]
    files = {value["id"]: downloads(acme, value) for value in values}
    if gone:
        Document.objects.all().delete()
    for value in values:
        value["files"] = {each: f"{value['id']}.{each}.pdf" for each in files[value["id"]]}
        for each, name in value["files"].items():
            inbox.put(name, files[value["id"]][each])
    created, updated, stored = (8, 0, 10) if gone else (0, 8, 0)
    counts = inbox.take(acme.workspace, *values)
    assert counts == {"created": created, "updated": updated, "files": stored}
    assert acme.get("/documents").body == before.body
    assert {value["id"]: downloads(acme, value) for value in values} == files


def test_import_accepts_ids_and_makes_missing_ones(acme: Tenant, inbox: Inbox) -> None:
    before = objects()
    given = sent(id=str(uid(7)).upper(), recipients=[signer(id=str(uid(8))), signer()])
    again = {**given, "title": "Again"}
    counts = inbox.take(acme.workspace, given, sent(), sent(title="Another"), again)
    assert counts == {"created": 3, "updated": 1, "files": 3}
    assert Document.objects.get(pk=uid(7)).title == "Again"
    assert Recipient.objects.filter(pk=uid(8), document=uid(7)).exists()
    # The lines without an id have the same ones when they are imported again.
    assert inbox.run(acme.workspace) == {"created": 0, "updated": 4, "files": 0}
    assert rows() == [3, 4, 3]
    # Each document has an object of its own, though all name the same PDF.
    assert objects() - before == set(StoredFile.objects.values_list("object_key", flat=True))


def test_import_updates_a_document_whose_id_exists(acme: Tenant, inbox: Inbox) -> None:
    old = factories.document(
        acme.workspace, "SENT", title="Old", expires_at=at("2026-12-31 00:00:00")
    )
    factories.recipient(old, name="Old")
    kept = factories.recipient(old, name="Kept", order=2)
    assert acme.get(f"/documents/{old.pk}/download").status == 200
    recipients = [signer(id=str(kept.pk), name="New")]
    value = completed(id=str(old.pk), title="New", recipients=recipients)
    assert inbox.take(acme.workspace, value) == {"created": 0, "updated": 1, "files": 3}
    value = acme.get(f"/documents/{old.pk}").json()["data"]
    assert (value["title"], value["status"], value["expiresAt"]) == ("New", "COMPLETED", None)
    assert [(r["id"], r["name"]) for r in value["recipients"]] == [(str(kept.pk), "New")]
    assert acme.get(f"/documents/{old.pk}/download").body == pdf("the signed", 3)
    # Files that replaced ones or are new have rows of their own, with size, digest and pages.
    document = Document.objects.select_related("original", "signed", "certificate").get()
    for file_type in ("original", "signed", "certificate"):
        content, stored = inbox.content(f"{file_type}.pdf"), getattr(document, file_type)
        assert (stored.size, stored.sha256) == (len(content), sha256(content))
    assert (document.page_count, document.file_size) == (2, len(pdf("the original", 2)))
    assert old.original.object_key in objects()
    # Its trail stays, under the title it had.
    entry = AuditEntry.objects.filter(document_id=old.pk).earliest("created_at")
    assert entry.document_title == "Old"


def test_import_records_each_document_and_each_file_that_it_stores(
    acme: Tenant, inbox: Inbox
) -> None:
    def recorded(value: Value) -> list[str]:
        """What happened, and which files were stored."""
        last = AuditEntry.objects.latest("id").pk
        inbox.take(acme.workspace, value)
        found = []
        for entry in AuditEntry.objects.filter(pk__gt=last).order_by("id"):
            assert (entry.workspace_name, entry.document_title) == ("Acme", "Lease")
            assert entry.person == actor()
            if entry.action == Action.FILE_IMPORTED:
                assert entry.file_sha256 == sha256(inbox.content(f"{entry.file_type}.pdf"))
            found.append(entry.detail or entry.file_type)
        return found

    assert recorded(sent(id=ID)) == ["created, sent", "original"]
    assert recorded(sent(id=ID)) == ["updated, sent"]
    inbox.put("original.pdf", pdf("another original", 2))
    assert recorded(sent(id=ID)) == ["updated, sent", "original"]
    assert recorded(sent(id=ID, deletedAt="2026-03-05T00:00:00Z")) == ["updated, deleted"]
    assert acme.get(f"/documents/{ID}").status == 404
    assert recorded(completed(id=ID)) == ["updated, completed", "signed", "certificate"]


def test_import_names_bad_lines_and_imports_the_others(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = factories.document(umbrella.workspace)
    person = factories.recipient(factories.document(acme.workspace))
    inbox.write(
        sent(id=str(theirs.pk)),
        sent(status=f"\x1b{acme.raw}"),
        sent(id=ID),
        sent(recipients=[signer(id=str(person.pk))]),
        sent(title="a\0b"),
        sent(files={"original": "no.pdf"}),
        sent(recipients=[signer(id=str(uid(8))), signer(id=str(uid(8)))]),
    )
    before = objects()
    said, printed, error = inbox.problems(acme.workspace)
    taken = 'duplicate key value violates unique constraint "documents_{}_pkey"'
    assert [line.partition(" DETAIL: ")[0] for line in said] == [
        f"line 2, Invalid enum value '\\x1b{acme.raw[:12]}…' - at `$.status`",
        "line 6, 'no.pdf' is not a file in the imported file's folder",
        f"line 1, {taken.format('document')}",
        f"line 4, {taken.format('recipient')}",
        "line 5, PostgreSQL text fields cannot contain NUL (0x00) bytes",
        f"line 7, {taken.format('recipient')}",
    ]
    assert f"Key (id)=({theirs.pk}) already exists." in said[2]
    assert json.loads(printed) == {"created": 1, "updated": 0, "files": 1, "refused": 6}
    assert error == "Refused lines: 6. The others were imported."
    # Each file is uploaded once; those of lines that PostgreSQL refuses stay behind.
    kept = Document.objects.get(pk=ID).original.object_key
    assert kept in (uploaded := objects() - before)
    assert len(uploaded) == 1 + 4
    theirs.refresh_from_db()
    assert theirs.workspace == umbrella.workspace


def test_import_that_is_strict_imports_all_or_nothing(acme: Tenant, inbox: Inbox) -> None:
    person = factories.recipient(factories.document(acme.workspace))
    before = rows()
    for bad in ({"status": "DONE"}, {"recipients": [signer(id=str(person.pk))]}):
        inbox.write(*many(BATCH + 1), sent(**bad))
        said, printed, error = inbox.problems(acme.workspace, "--strict")
        assert [line.partition(",")[0] for line in said] == [f"line {BATCH + 2}"]
        assert (printed, error) == ("", "Refused lines: 1. Nothing was imported.")
        assert rows() == before
    inbox.write(*many(2))
    assert inbox.run(acme.workspace, "--strict")["created"] == 2


def test_import_never_replaces_or_removes_the_files_of_a_complete_document(
    acme: Tenant, inbox: Inbox
) -> None:
    inbox.take(acme.workspace, completed(id=ID))
    before = objects()
    inbox.put("other.pdf", pdf("another", 2))
    files = completed()["files"]
    for value in (
        completed(id=ID, files=files | {"signed": "other.pdf"}),
        completed(id=ID, files=files | {"original": "other.pdf"}),
        sent(id=ID),
    ):
        inbox.write(value)
        [said], _, _ = inbox.problems(acme.workspace)
        assert said == "line 1, the files of a complete document are sealed, and these differ"
    assert inbox.take(acme.workspace, completed(id=ID, title="New"))["updated"] == 1
    assert objects() == before


@pytest.mark.slow
def test_import_uses_the_page_count_of_a_line_whose_original_cannot_be_counted(
    acme: Tenant, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(files, "COUNT_SECONDS", 1)
    inbox.put("slow.pdf", b"%PDF-1.4\n" + b"1 0 obj\n" * 6_000_000)
    names = ("slow.pdf", "original.pdf")
    inbox.write(*(sent(pageCount=7, files={"original": name}) for name in names))
    inbox.run(acme.workspace)
    assert sorted(Document.objects.values_list("page_count", flat=True)) == [2, 7]
    unknown = "the PDF's is unknown: counting them takes more than 1 seconds"
    assert f"line 1, note: pageCount is used, {unknown}" in capsys.readouterr().err
    inbox.write(sent(files={"original": "slow.pdf"}))
    [problem], _, _ = inbox.problems(acme.workspace)
    assert problem == f"line 1, pageCount is required, since {unknown}"


@pytest.mark.usefixtures("as_owner")
def test_import_that_fails_keeps_the_batches_before(acme: Tenant, inbox: Inbox) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE documents_recipient RENAME name TO gone")
    inbox.write(*many(BATCH, recipients=[]), sent())
    with pytest.raises(CommandError, match=r"\AThe database: .*; what was imported before"):
        inbox.run(acme.workspace)
    assert rows() == [BATCH, 0, BATCH]


def changed_meanwhile(change: Callable[[Document], None], run: Callable[[], Any]) -> Any:
    """What `run` returns, which waits for somebody else's change of the only document."""
    changed = threading.Event()

    def work() -> None:
        with contextlib.closing(connection), transaction.atomic():
            now = Document.objects.get()
            change(now)
            now.save()
            changed.set()
            assert eventually(waiting_for_lock)

    with ThreadPoolExecutor() as pool:
        changing = pool.submit(work)
        assert changed.wait(10)
        result = run()
        changing.result()
    return result


@pytest.mark.django_db(transaction=True)
def test_import_does_not_replace_files_of_a_document_that_becomes_complete_meanwhile(
    acme: Tenant, inbox: Inbox
) -> None:
    old = factories.document(acme.workspace, id=ID)
    sealed = [factories.stored(pdf(name)) for name in ("signed", "certificate")]
    inbox.write(completed(id=ID))

    def complete(now: Document) -> None:
        now.status, now.completed_at = "COMPLETED", at("2026-03-03 12:00:00")
        now.signed, now.certificate = sealed

    [said], _, _ = changed_meanwhile(complete, lambda: inbox.problems(acme.workspace))
    assert "are sealed" in said
    now = Document.objects.select_related("original", "signed", "certificate").get()
    assert (now.original, now.signed, now.certificate) == (old.original, *sealed)
