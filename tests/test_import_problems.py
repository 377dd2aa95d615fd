"""import_documents: every problem has its line, its document and its field, and none gets in."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from pypdf import PdfWriter

from documents import storage
from documents.models import Document, StoredFile
from tests import factories
from tests.factories import Tenant, pdf, uid
from tests.inbox import Inbox, Value, completed, objects, rows, sent, signer

ID = str(uid(1))
NAMED = f"document {ID}"
STATUSES = ", ".join(Document.Status.values)
MOMENT = "takes an ISO 8601 date and time with its offset, such as 2026-03-01T09:30:00Z"
TEXT = "takes text without NUL characters and halves of surrogate pairs"
UUID = "takes a UUID, such as 0f8b6c0e-3f5e-4c57-9f0a-6d1f0c2b9a11"
WITHOUT = object()


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    """A folder to import; what comes into the store leaves it after the test."""
    before = objects()
    yield Inbox(tmp_path)
    storage.delete(objects() - before)


def refused(inbox: Inbox, workspace: Any) -> list[str]:
    """The problems of a file that is refused; fails when anything of it was imported."""
    before = objects(), rows()
    with pytest.raises(CommandError) as caught:
        inbox.run(workspace)
    assert caught.value.returncode == 1
    assert (objects(), rows()) == before
    first, *problems = str(caught.value).splitlines()
    number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    assert first == f"{number} in documents.jsonl; nothing was imported."
    return problems


def problems(inbox: Inbox, tenant: Tenant, *values: Value) -> list[str]:
    """The problems of a file with these documents."""
    inbox.write(*values)
    return refused(inbox, tenant.workspace)


def changed(value: Value, changes: Value) -> Value:
    """The document with some fields changed, or taken away."""
    kept = {name: given for name, given in value.items() if changes.get(name) is not WITHOUT}
    return {**kept, **{n: given for n, given in changes.items() if given is not WITHOUT}}


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("title", WITHOUT, "is missing"),
        ("title", None, "takes a text of 1 to 500 characters"),
        ("title", 5, "takes a text of 1 to 500 characters"),
        ("title", " ", "takes a text of 1 to 500 characters"),
        ("title", "x" * 501, "takes a text of 1 to 500 characters"),
        ("title", "a\0b", TEXT),
        ("title", "a\ud800b", TEXT),
        ("status", WITHOUT, "is missing"),
        ("status", "DONE", f"takes one of {STATUSES}, not 'DONE'"),
        ("status", ["SENT"], f"takes one of {STATUSES}"),
        ("fileName", WITHOUT, "is missing"),
        ("fileName", "x" * 256, "takes a text of 1 to 255 characters"),
        ("fileName", "a\nb.pdf", "takes a name without control characters"),
        ("signingOrder", WITHOUT, "is missing"),
        ("signingOrder", "RANDOM", "takes one of PARALLEL, SEQUENTIAL, not 'RANDOM'"),
        ("createdAt", WITHOUT, "is missing"),
        ("createdAt", None, MOMENT),
        ("createdAt", 1767225600, MOMENT),
        ("createdAt", "2026-03-01", MOMENT),
        ("createdAt", "2026-03-01T09:30:00", MOMENT),
        ("createdAt", "2026-02-30T09:30:00Z", MOMENT),
        ("createdAt", "0001-01-01T00:00:00+14:00", MOMENT),
        ("sentAt", "yesterday", MOMENT),
        ("expiresAt", True, MOMENT),
        ("completedAt", {}, MOMENT),
        ("deletedAt", True, MOMENT),
        ("pageCount", 3, "is 3, but the original has 2"),
        ("pageCount", True, "takes a whole number from 0 to 2147483647"),
        ("pageCount", 2.0, "takes a whole number from 0 to 2147483647"),
        ("pageCount", "2", "takes a whole number from 0 to 2147483647"),
        ("pageCount", 2**31, "takes a whole number from 0 to 2147483647"),
        ("pageCount", float("nan"), "takes a whole number from 0 to 2147483647"),
        ("fileSize", 1, f"is 1, but the original has {len(pdf('the original', 2))}"),
        ("fileSize", -1, f"takes a whole number from 0 to {2**63 - 1}"),
        ("fileSize", 2**63, f"takes a whole number from 0 to {2**63 - 1}"),
        ("fileSize", float("inf"), f"takes a whole number from 0 to {2**63 - 1}"),
        ("recipients", WITHOUT, "is missing"),
        ("recipients", None, "takes a list of objects"),
        ("recipients", {"name": "Ada"}, "takes a list of objects"),
        ("files", WITHOUT, "is missing"),
        ("files", "original.pdf", "takes an object with signed, original, certificate"),
        ("titel", "Lease", "is not a field"),
        ("page_count", 2, "is not a field"),
    ],
)
def test_a_field_of_a_document_that_is_wrong(
    acme: Tenant, inbox: Inbox, field: str, value: Any, text: str
) -> None:
    name = "files.original" if (field, value) == ("files", WITHOUT) else field
    found = problems(inbox, acme, changed(sent(id=ID), {field: value}))
    assert found == [f"line 1, {NAMED}, {name}: {text}"]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("name", WITHOUT, "is missing"),
        ("name", "x" * 201, "takes a text of 1 to 200 characters"),
        ("email", "ada", "takes an e-mail address, not 'ada'"),
        ("email", "a@b.example\nBcc: x@y.example", "takes an e-mail address, not "),
        ("email", "a" * 250 + "@b.example", "takes a text of 1 to 254 characters"),
        ("role", "BOSS", "takes one of SIGNER, APPROVER, CC, VIEWER, not 'BOSS'"),
        ("status", None, "takes one of PENDING, SENT, VIEWED, SIGNED, APPROVED, DECLINED"),
        ("order", "1", "takes a whole number from 0 to 2147483647"),
        ("order", -1, "takes a whole number from 0 to 2147483647"),
        ("viewedAt", "2026-03-01T09:30", MOMENT),
        ("declineReason", "x" * 2001, "takes a text of 1 to 2000 characters"),
        ("id", "1", UUID),
        ("id", None, UUID),
        ("mail", "ada@example.com", "is not a field"),
    ],
)
def test_a_field_of_a_recipient_that_is_wrong(
    acme: Tenant, inbox: Inbox, field: str, value: Any, text: str
) -> None:
    bad = changed(signer(), {field: value})
    [found] = problems(inbox, acme, sent(id=ID, recipients=[signer(), bad]))
    assert found.startswith(f"line 1, {NAMED}, recipients[1].{field}: {text}")


def test_a_number_of_thousands_of_digits_is_just_too_large(acme: Tenant, inbox: Inbox) -> None:
    inbox.write(sent(id=ID, pageCount=123454321))
    inbox.file.write_text(inbox.file.read_text().replace("123454321", "9" * 5000))
    assert refused(inbox, acme.workspace) == [
        f"line 1, {NAMED}, pageCount: takes a whole number from 0 to 2147483647"
    ]


def written(writer: PdfWriter) -> bytes:
    """The PDF."""
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def locked(password: str) -> bytes:
    """A PDF of one page that needs a password to be read; with "" only to be changed."""
    writer = PdfWriter(io.BytesIO(pdf("locked")))
    writer.encrypt(password, "owner")
    return written(writer)


@pytest.mark.parametrize(
    ("file_type", "path", "text"),
    [
        ("original", None, "is missing"),
        ("original", 5, "takes a text of 1 to 4096 characters"),
        ("original", "a\0.pdf", TEXT),
        ("original", "no.pdf", "'no.pdf' is not there"),
        ("original", "x" * 4000, f"'{'x' * 60}…' cannot be read (File name too long)"),
        ("original", ".", "'.' is not a file"),
        ("original", "/etc/hostname", "'/etc/hostname' takes a path relative to the imported file"),
        ("original", "../out.pdf", "'../out.pdf' leads out of the imported file's folder"),
        ("original", "link.pdf", "'link.pdf' leads out of the imported file's folder"),
        ("original", "text.pdf", "'text.pdf' is not a PDF"),
        ("original", "empty.pdf", "'empty.pdf' is not a PDF"),
        ("original", "half.pdf", "'half.pdf' is a PDF that cannot be read (PdfStreamError)"),
        ("original", "locked.pdf", "'locked.pdf' is a PDF locked with a password"),
        ("original", "blank.pdf", "'blank.pdf' is a PDF without pages"),
        ("signed", None, "is missing; a COMPLETED document has it"),
        ("signed", "text.pdf", "'text.pdf' is not a PDF"),
        ("certificate", None, "is missing; a COMPLETED document has it"),
        ("certificate", "no.pdf", "'no.pdf' is not there"),
        ("sealed", "signed.pdf", "is not a field"),
    ],
)
def test_a_file_that_is_wrong(
    acme: Tenant, inbox: Inbox, file_type: str, path: Any, text: str
) -> None:
    (inbox.folder.parent / "out.pdf").write_bytes(pdf("out"))
    (inbox.folder / "link.pdf").symlink_to(inbox.folder.parent / "out.pdf")
    inbox.put("text.pdf", b"Not a PDF, whatever its name says.")
    inbox.put("empty.pdf", b"")
    inbox.put("half.pdf", pdf("half")[:300])
    inbox.put("locked.pdf", locked("secret"))
    inbox.put("blank.pdf", written(PdfWriter()))
    value = completed(id=ID)
    value["files"][file_type] = path
    assert problems(inbox, acme, value) == [f"line 1, {NAMED}, files.{file_type}: {text}"]


def test_a_pdf_that_everybody_may_read_and_nobody_change_is_fine(
    acme: Tenant, inbox: Inbox
) -> None:
    inbox.put("original.pdf", locked(""))
    inbox.take(acme.workspace, sent())
    assert Document.objects.get().page_count == 1


@pytest.mark.parametrize("status", [s for s in Document.Status.values if s != "COMPLETED"])
def test_only_a_complete_document_has_signed_files(acme: Tenant, inbox: Inbox, status: str) -> None:
    text = "is there; only a COMPLETED document has it"
    assert problems(inbox, acme, completed(id=ID, status=status)) == [
        f"line 1, {NAMED}, files.signed: {text}",
        f"line 1, {NAMED}, files.certificate: {text}",
    ]


@pytest.mark.parametrize("value", [WITHOUT, None])
def test_a_complete_document_says_when_it_was_completed(
    acme: Tenant, inbox: Inbox, value: Any
) -> None:
    assert problems(inbox, acme, changed(completed(id=ID), {"completedAt": value})) == [
        f"line 1, {NAMED}, completedAt: is missing; a COMPLETED document has it"
    ]


def test_an_id_stands_in_a_file_once(acme: Tenant, inbox: Inbox) -> None:
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


def test_an_id_of_another_workspace_is_refused_and_its_document_left_alone(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = factories.document(umbrella.workspace, title="Theirs")
    gone = factories.document(umbrella.workspace, deleted_at=factories.at("2026-01-01 00:00:00"))
    assert problems(inbox, acme, sent(id=str(theirs.pk)), sent(id=str(gone.pk))) == [
        f"line 1, document {theirs.pk}, id: {theirs.pk} belongs to another workspace",
        f"line 2, document {gone.pk}, id: {gone.pk} belongs to another workspace",
    ]
    theirs.refresh_from_db()
    assert (theirs.title, theirs.workspace) == ("Theirs", umbrella.workspace)


def test_a_recipient_stays_with_its_document(acme: Tenant, umbrella: Tenant, inbox: Inbox) -> None:
    ours = factories.recipient(factories.document(acme.workspace))
    theirs = factories.recipient(factories.document(umbrella.workspace))
    assert problems(
        inbox, acme, sent(id=ID, recipients=[signer(id=str(r.pk)) for r in (ours, theirs)])
    ) == [
        f"line 1, {NAMED}, recipients[{number}].id: {r.pk} belongs to a recipient of another "
        "document"
        for number, r in enumerate((ours, theirs))
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n5", "line 2, is not a JSON object"),
        (b"hello", "line 1, column 1 is not JSON: Expecting value"),
        (b"[", "line 1, column 2 is not JSON: Expecting value"),
        (b"[] []", "line 1, column 4 is not JSON: something follows its end"),
        (b"[1,\n2]", "line 1, is not a JSON object|line 2, is not a JSON object"),
        (b"[1 2]", "line 1, is not a JSON object|line 1, column 4 is not JSON: Expecting ','"),
        (b"[1,]", "line 1, is not a JSON object|line 1, column 4 is not JSON: Expecting value"),
        (b'"a"\n"b"', "line 1, is not a JSON object|line 2, is not a JSON object"),
        (b'"a" "b"', "line 1, is not a JSON object|line 1, column 5 is not JSON: something"),
        (b'"a"\n[]', "line 1, is not a JSON object|line 2, is not a JSON object"),
        (b'\n"\xff"', "line 2, is not UTF-8"),
        (b'[\n"a",\n"\xe9"]', "line 3, is not UTF-8"),
        ("[]".encode("utf-16"), "line 1, is not UTF-8"),
        (b'{"a":' * 100_000, "line 1, is nested too deeply"),
        (b"[" * 100_000, "line 1, is nested too deeply"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_json_object_is_named_by_its_line(
    acme: Tenant, inbox: Inbox, content: bytes, expected: str
) -> None:
    inbox.file.write_bytes(content)
    found = refused(inbox, acme.workspace)
    assert len(found) == len(expected.split("|"))
    for line, begin in zip(found, expected.split("|"), strict=True):
        assert line.startswith(begin)


def test_a_field_that_is_given_twice_is_named(acme: Tenant, inbox: Inbox) -> None:
    text = json.dumps(sent(id=ID)).replace('"title":', '"title": "first", "title":')
    inbox.file.write_text(text.replace('"role":', '"role": "CC", "role":'))
    assert refused(inbox, acme.workspace) == [
        "line 1, the field role is given twice",
        "line 1, the field title is given twice",
    ]


def test_all_problems_of_a_file_are_told_at_once_in_the_order_of_its_lines(
    acme: Tenant, umbrella: Tenant, inbox: Inbox
) -> None:
    theirs = str(factories.document(umbrella.workspace).pk)
    untitled = {**sent(), "createdAt": None}
    del untitled["title"]
    values = [
        sent(id=theirs, status="DONE", signingOrder="NONE"),
        sent(),
        untitled,
        sent(title="\x1b[31mred\n", fileName=""),
    ]
    inbox.write(*values)
    inbox.file.write_text(inbox.file.read_text() + "{")
    assert refused(inbox, acme.workspace) == [
        f"line 1, document {theirs}, status: takes one of {STATUSES}, not 'DONE'",
        f"line 1, document {theirs}, signingOrder: takes one of PARALLEL, SEQUENTIAL, not 'NONE'",
        f"line 1, document {theirs}, id: {theirs} belongs to another workspace",
        "line 3, a document without id and title, title: is missing",
        f"line 3, a document without id and title, createdAt: {MOMENT}",
        # What could play tricks on a terminal is not passed on to it.
        r"line 4, document \x1b[31mred\n, fileName: takes a text of 1 to 255 characters",
        "line 5, column 2 is not JSON: Expecting property name enclosed in double quotes",
    ]


def test_of_very_many_problems_the_first_hundred_are_told(acme: Tenant, inbox: Inbox) -> None:
    inbox.write(*(sent(title=f"T{number}", status="X") for number in range(1, 1301)))
    with pytest.raises(CommandError) as caught:
        inbox.run(acme.workspace)
    first, *lines, last = str(caught.value).splitlines()
    assert first == "1,300 problems in documents.jsonl; nothing was imported."
    assert [line.split(", status")[0] for line in lines] == [
        f"line {number}, document T{number}" for number in range(1, 101)
    ]
    assert last == "and 1,200 more"
    assert not StoredFile.objects.exists()


@pytest.mark.parametrize("key", ["00000000-0000-4000-8000-00000000dead", "acme", "1", "", "\0"])
def test_an_unknown_workspace_is_one_line(inbox: Inbox, key: str, db: None) -> None:
    inbox.write(sent())
    with pytest.raises(CommandError, match=r"\AThere is no workspace with that id\.\Z"):
        inbox.run(key)


@pytest.mark.parametrize(
    ("name", "text"), [("none.json", "No such file or directory"), ("", "Is a directory")]
)
def test_a_file_that_cannot_be_read_is_one_line(
    acme: Tenant, inbox: Inbox, name: str, text: str
) -> None:
    inbox.file = inbox.folder / name
    with pytest.raises(CommandError) as caught:
        inbox.run(acme.workspace)
    assert str(caught.value) == f"{inbox.file} cannot be read: {text}."
