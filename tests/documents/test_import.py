"""import_documents: what gets in, how what is there is updated, and what is refused."""

import hashlib
import io
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from audit.models import Action, AuditEntry
from config.runtime.request_context import actor
from documents import pages
from documents.importing.run import BATCH
from documents.models import Document, Recipient, StoredFile
from tests.support import factories
from tests.support.client import Response
from tests.support.database import waiting_for_lock
from tests.support.factories import Tenant, at, pdf, uid
from tests.support.inbox import Inbox, Value, completed, objects, rows, sent, signer
from tests.support.server import eventually

ID = str(uid(1))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def listed(tenant: Tenant) -> list[Response]:
    """Every page of the tenant's documents, three on each."""
    pages = [tenant.get("/documents?limit=3")]
    while cursor := pages[-1].json()["nextCursor"]:
        pages.append(tenant.get(f"/documents?limit=3&cursor={cursor}"))
    return pages


def downloads(tenant: Tenant, values: list[Value]) -> dict[str, bytes]:
    """Every file of the documents, by the name it is stored under beside the file of documents."""
    found = {}
    for value in values:
        types = ["original"]
        types += ["signed", "certificate"] if value["status"] == "COMPLETED" else []
        for file_type in types:
            answer = tenant.get(f"/documents/{value['id']}/download?type={file_type}")
            assert answer.status == 200
            found[f"{value['id']}.{file_type}.pdf"] = answer.body
    return found


def one_of_each(tenant: Tenant) -> None:
    """A document of each status, a recipient of each role and status, and odd texts."""
    for number, status in enumerate(Document.Status.values):
        document = factories.document(
            tenant.workspace,
            status,
            title=f"Σύμβαση № {number} – “Łódź” \U0001f58b",
            file_name=f"договор {number}.pdf",
            page_count=number + 1,
            created_at=at("2026-03-01 09:00:00.123456"),
            sent_at=at("2026-03-01 09:30:00"),
            expires_at=at("2026-12-31 23:59:59.999999"),
            signing_order=Document.SigningOrder.values[number % 2],
        )
        for order, role in enumerate(Recipient.Role.values):
            reached = Recipient.Status.values[(number + order) % 7]
            factories.recipient(
                document,
                role,
                reached,
                order=order,
                sent_at=at("2026-03-01 09:30:00"),
                declined_at=at("2026-03-02 00:00:00"),
                decline_reason="Nein,\n\tdanke" if number % 2 else None,
            )


@pytest.mark.parametrize("gone", [True, False], ids=["into an empty workspace", "over itself"])
def test_import_accepts_what_the_api_lists_and_lists_the_same(
    acme: Tenant, inbox: Inbox, gone: bool
) -> None:
    one_of_each(acme)
    before = [(page.status, page.body) for page in listed(acme)]
    values = [value for page in listed(acme) for value in page.json()["data"]]
    assert len(values) == 8
    files = downloads(acme, values)
    if gone:
        Document.objects.all().delete()
    for name, content in files.items():
        inbox.put(name, content)
    for value in values:
        key = f"{value['id']}."
        names = [name for name in files if name.startswith(key)]
        value["files"] = {name.split(".")[1]: name for name in names}
    inbox.write(*values)
    assert inbox.run(acme.workspace) == {
        "created": 8 if gone else 0,
        "updated": 0 if gone else 8,
        "files": 10 if gone else 0,
    }
    assert [(page.status, page.body) for page in listed(acme)] == before
    assert downloads(acme, values) == files


def test_import_stores_each_file_with_its_size_sha256_and_pages(acme: Tenant, inbox: Inbox) -> None:
    inbox.take(acme.workspace, completed())
    document = Document.objects.select_related("original", "signed", "certificate").get()
    for file_type in ("original", "signed", "certificate"):
        content = (inbox.folder / f"{file_type}.pdf").read_bytes()
        stored = getattr(document, file_type)
        assert stored.sha256 == sha256(content)
        assert stored.size == len(content)
    assert (document.page_count, document.file_size) == (2, len(pdf("the original", 2)))


def test_import_accepts_ids_and_makes_missing_ones(acme: Tenant, inbox: Inbox) -> None:
    before = objects()
    given = sent(id=str(uid(7)).upper(), recipients=[signer(id=str(uid(8))), signer()])
    assert inbox.take(acme.workspace, given, sent(), sent()) == {
        "created": 3,
        "updated": 0,
        "files": 3,
    }
    assert Document.objects.filter(pk=uid(7)).exists()
    assert Recipient.objects.filter(pk=uid(8), document=uid(7)).exists()
    assert rows() == [3, 4, 3]
    # The lines without an id have the same ones when they are imported again.
    assert inbox.run(acme.workspace) == {"created": 0, "updated": 3, "files": 0}
    assert rows() == [3, 4, 3]
    # Each document has an object of its own, though all name the same PDF.
    assert objects() - before == set(StoredFile.objects.values_list("object_key", flat=True))


def test_import_ignores_progress_and_links_and_reads_any_offset(acme: Tenant, inbox: Inbox) -> None:
    created = "2026-03-01T00:30:00.25+05:30"
    progress = {"done": 9, "total": 9}
    inbox.take(acme.workspace, sent(progress=progress, links=None, createdAt=created))
    [value] = acme.get("/documents").json()["data"]
    assert value["createdAt"] == "2026-02-28T19:00:00.250000Z"
    assert value["progress"] == {"done": 0, "total": 1}
    assert value["links"]["self"] == f"/api/v1/documents/{value['id']}"


def test_import_of_a_deleted_document_is_deleted(acme: Tenant, inbox: Inbox) -> None:
    value = sent(id=str(uid(1)), deletedAt="2026-03-05T00:00:00Z")
    inbox.take(acme.workspace, value)
    assert Document.objects.get().deleted_at == at("2026-03-05 00:00:00")
    assert acme.get(f"/documents/{uid(1)}").status == 404
    inbox.take(acme.workspace, {**value, "deletedAt": None})
    assert acme.get(f"/documents/{uid(1)}").status == 200
    inbox.take(acme.workspace, value)
    del value["deletedAt"]
    inbox.take(acme.workspace, value)
    assert acme.get(f"/documents/{uid(1)}").status == 200


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"\xef\xbb\xbf%b\r\n\r\n%b\r\n", 2),
        (b"\n\n%b\n  \t%b", 2),
        (b"", 0),
        (b" \r\n\n", 0),
    ],
    ids=["BOM and CRLF", "blank lines", "empty", "only white space"],
)
def test_import_ignores_white_space_and_a_bom(
    acme: Tenant, inbox: Inbox, content: bytes, count: int
) -> None:
    value = json.dumps(sent(), ensure_ascii=False).encode()
    inbox.file.write_bytes(content % ((value,) * count))
    assert inbox.run(acme.workspace)["created"] == count


def test_import_updates_a_document_whose_id_exists(acme: Tenant, inbox: Inbox) -> None:
    old = factories.document(
        acme.workspace, "SENT", title="Old", expires_at=at("2026-12-31 00:00:00")
    )
    factories.recipient(old, name="Old")
    kept = factories.recipient(old, name="Kept", order=2)
    assert acme.get(f"/documents/{old.pk}/download").status == 200
    old_key = old.original.object_key
    counts = inbox.take(
        acme.workspace,
        completed(id=str(old.pk), title="New", recipients=[signer(id=str(kept.pk), name="New")]),
    )
    assert counts == {"created": 0, "updated": 1, "files": 3}
    value = acme.get(f"/documents/{old.pk}").json()["data"]
    assert (value["title"], value["status"], value["expiresAt"]) == ("New", "COMPLETED", None)
    assert [(r["id"], r["name"]) for r in value["recipients"]] == [(str(kept.pk), "New")]
    assert acme.get(f"/documents/{old.pk}/download").body == pdf("the signed", 3)
    assert rows() == [1, 1, 3]
    assert old_key not in objects()
    # Its trail stays, under the title it had.
    entry = AuditEntry.objects.filter(document_id=old.pk).earliest("created_at")
    assert entry.document_title == "Old"


def test_import_does_not_store_again_a_file_that_the_document_has(
    acme: Tenant, inbox: Inbox
) -> None:
    inbox.take(acme.workspace, sent(id=str(uid(1))))
    before = objects()
    original = Document.objects.get().original
    assert inbox.take(acme.workspace, completed(id=str(uid(1))))["files"] == 2
    assert Document.objects.get().original == original
    assert rows() == [1, 1, 3]
    assert (len(objects() - before), before - objects()) == (2, set())


def test_import_creates_and_updates_in_one_file_longer_than_a_batch(
    acme: Tenant, inbox: Inbox
) -> None:
    new = [sent(id=str(uid(number)), title=f"New {number}") for number in range(BATCH + 1)]
    assert inbox.take(acme.workspace, *new)["created"] == BATCH + 1
    changed = [{**value, "title": "Changed"} for value in new[1:]]
    counts = inbox.take(acme.workspace, *changed[:3], sent(), *changed[3:])
    assert counts == {"created": 1, "updated": BATCH, "files": 1}
    assert Document.objects.filter(title="Changed").count() == BATCH
    assert rows() == [BATCH + 2] * 3


def test_import_records_each_document_and_each_file_that_it_stores(
    acme: Tenant, inbox: Inbox
) -> None:
    def recorded(**fields: Any) -> list[str]:
        """The actions of an import, with what happened or which file it was."""
        last = AuditEntry.objects.latest("id").pk
        value = completed if fields.pop("complete", False) else sent
        inbox.take(acme.workspace, value(id=ID, **fields))
        from_file = f"; import file: SHA-256 {sha256(inbox.file.read_bytes())}"
        found = []
        for entry in AuditEntry.objects.filter(pk__gt=last).order_by("id"):
            assert (entry.workspace_name, entry.document_title) == ("Acme", "Lease")
            assert entry.person == actor()
            if entry.action == Action.DOCUMENT_IMPORTED:
                assert entry.detail.endswith(from_file)
                found.append(entry.detail.removesuffix(from_file))
            else:
                assert entry.action == Action.FILE_IMPORTED
                name = f"{entry.file_type}.pdf"
                assert entry.file_sha256 == sha256((inbox.folder / name).read_bytes())
                found.append(entry.file_type)
        return found

    assert recorded() == ["created", "original"]
    assert recorded() == ["updated"]
    inbox.put("original.pdf", pdf("another original", 2))
    assert recorded() == ["updated", "original"]
    assert recorded(deletedAt="2026-03-05T00:00:00Z") == ["updated, deleted"]
    assert recorded(complete=True) == ["updated, completed", "signed", "certificate"]


def test_import_names_bad_lines_and_imports_the_others(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = factories.document(umbrella.workspace)
    person = factories.recipient(factories.document(acme.workspace))
    inbox.put("text.pdf", b"Not a PDF.")
    inbox.write(
        sent(id=str(theirs.pk)),
        sent(status=f"\x1b{acme.raw}"),
        sent(id=ID),
        sent(recipients=[signer(id=str(person.pk))]),
        sent(files={"original": "text.pdf"}),
        sent(recipients=[signer(id=str(uid(8))), signer(id=str(uid(8)))]),
        sent(id=ID, title="Later"),
    )
    before = objects()
    said, printed, error = inbox.problems(acme.workspace)
    assert [line.partition(" DETAIL: ")[0] for line in said] == [
        f"line 2, status: Invalid enum value '\\x1b{acme.raw[:12]}…'",
        "line 5, files: 'text.pdf' is not a PDF",
        *(
            f'line {line}, duplicate key value violates unique constraint "documents_{table}_pkey"'
            for line, table in ((1, "document"), (4, "recipient"), (6, "recipient"))
        ),
    ]
    assert f"Key (id)=({theirs.pk}) already exists." in said[2]
    assert json.loads(printed) == {"created": 1, "updated": 1, "files": 1, "refused": 5}
    assert error == "Refused lines: 5. The others were imported."
    assert Document.objects.get(pk=ID).title == "Later"
    assert len(objects() - before) == 1
    theirs.refresh_from_db()
    assert theirs.workspace == umbrella.workspace


def test_import_that_is_strict_imports_all_or_nothing(acme: Tenant, inbox: Inbox) -> None:
    person = factories.recipient(factories.document(acme.workspace))
    before = rows()
    for bad in ({"status": "DONE"}, {"recipients": [signer(id=str(person.pk))]}):
        inbox.write(*[sent()] * (BATCH + 1), sent(**bad))
        said, printed, error = inbox.problems(acme.workspace, "--strict")
        assert [line.partition(",")[0] for line in said] == [f"line {BATCH + 2}"]
        assert (printed, error) == ("", "Refused lines: 1. Nothing was imported.")
        assert rows() == before
    inbox.write(sent(), sent())
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
        assert said == "line 1, files: those of a complete document are sealed, and these differ"
    assert inbox.take(acme.workspace, completed(id=ID, title="New"))["updated"] == 1
    assert objects() == before


def test_import_uses_the_page_count_of_a_line_whose_original_cannot_be_counted(
    acme: Tenant, inbox: Inbox, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert (pages.SECONDS, pages.MEGABYTES) == (10, 100)
    monkeypatch.setattr(pages, "SECONDS", 3)
    inbox.put("slow.pdf", b"%PDF-1.4\n" + b"1 0 obj\n" * 6_000_000)
    inbox.put("large.pdf", b"%PDF-1.4\n" + b" " * 90_000_000)
    names = ("slow.pdf", "original.pdf", "large.pdf")
    inbox.write(*(sent(pageCount=7, files={"original": name}) for name in names))
    started = time.monotonic()
    inbox.run(acme.workspace)
    assert time.monotonic() - started < 30
    assert sorted(Document.objects.values_list("page_count", flat=True)) == [2, 7, 7]
    limits = "cannot be read within 3 seconds and 100 MB of memory"
    said = capsys.readouterr().err
    for line in (1, 3):
        assert f"line {line}, note: pageCount is used: the original {limits}" in said
    inbox.write(sent(files={"original": "slow.pdf"}))
    [problem], _, _ = inbox.problems(acme.workspace)
    assert problem == f"line 1, pageCount: is required, since the original {limits}"


def test_import_reports_what_it_cannot_use_in_one_line(acme: Tenant, inbox: Inbox) -> None:
    inbox.write(sent())
    for key in ("00000000-0000-4000-8000-00000000dead", "acme", "\0"):
        with pytest.raises(CommandError, match="There is no workspace with that id"):
            inbox.run(key)
    inbox.file = inbox.folder / "none.jsonl"
    with pytest.raises(CommandError, match="No such file or directory"):
        inbox.run(acme.workspace)


@pytest.mark.usefixtures("as_owner")
def test_import_that_fails_keeps_the_batches_before_and_removes_its_objects(
    acme: Tenant, inbox: Inbox
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE documents_recipient ALTER name TYPE varchar(10)")
    before = objects()
    long = sent(recipients=[signer(name="x" * 11)])
    inbox.write(*[sent(recipients=[])] * BATCH, long)
    with pytest.raises(CommandError, match=r"\AThe database: .*; what was imported before"):
        inbox.run(acme.workspace)
    assert rows() == [BATCH, 0, BATCH]
    assert len(objects() - before) == BATCH


class Interrupting(io.StringIO):
    """Sends this process a SIGTERM when a refused line is written."""

    def write(self, text: str) -> int:
        if text.startswith("line "):
            os.kill(os.getpid(), signal.SIGTERM)
        return super().write(text)


def test_import_that_is_asked_to_end_keeps_the_batches_before(acme: Tenant, inbox: Inbox) -> None:
    inbox.write(*[sent()] * BATCH, sent(status="DONE"), sent())
    words = ("import_documents", str(acme.workspace.pk), str(inbox.file))
    with pytest.raises(CommandError, match="Stopped; what was imported before") as caught:
        call_command(*words, stderr=Interrupting())
    assert caught.value.returncode == 128 + signal.SIGTERM
    assert rows() == [BATCH] * 3


@pytest.mark.django_db(transaction=True)
def test_import_does_not_replace_files_of_a_document_that_becomes_complete_meanwhile(
    acme: Tenant, inbox: Inbox
) -> None:
    old = factories.document(acme.workspace, id=ID)
    sealed = [factories.stored(pdf(name)) for name in ("signed", "certificate")]
    inbox.write(completed(id=ID))

    def import_it() -> str:
        try:
            return inbox.problems(acme.workspace)[0][0]
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            now = Document.objects.select_for_update(of=("self",)).get()
            now.status, now.completed_at = "COMPLETED", at("2026-03-03 12:00:00")
            now.signed, now.certificate = sealed
            now.save()
            importing = pool.submit(import_it)
            assert eventually(waiting_for_lock)
        assert "are sealed" in importing.result()
    now.refresh_from_db()
    assert (now.original, now.signed, now.certificate) == (old.original, *sealed)
    assert now.original.object_key in objects()
