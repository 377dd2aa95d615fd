"""import_documents: what gets in, and how what is there is updated."""

import hashlib
import json

import pytest

from audit.models import AuditEntry
from documents.importing.run import BATCH
from documents.models import Document, Recipient, StoredFile
from tests.support import factories
from tests.support.client import Response
from tests.support.factories import Tenant, at, pdf, uid
from tests.support.inbox import Inbox, Value, completed, objects, rows, sent, signer


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
        assert stored.sha256 == hashlib.sha256(content).hexdigest()
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
