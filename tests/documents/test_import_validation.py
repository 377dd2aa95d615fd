"""Validation of imported documents: every problem names its field and what is wrong with it."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter

from documents.importing.entries import MAX_RECIPIENTS, read
from documents.importing.files import check_file, check_files
from documents.importing.problems import SHOWN_PROBLEMS, ImportRefused, Invalid, Problems
from documents.models import Document
from documents.pages import PageCounter
from tests.support.factories import pdf
from tests.support.inbox import Value, completed, sent, signer

WITHOUT = object()
BLANK = "must not be blank or have a NUL character"
OFFSET = "Expected `datetime` with a timezone component"
RFC3339 = "Invalid RFC3339 encoded datetime"
YEARS = "must be in the years 2 to 9998"
COUNT = "Expected `int` >= 1"
NO_OBJECT = "Expected `object`, got"


def changed(value: Value, changes: Value) -> Value:
    """The document with some fields changed, or taken away."""
    return {n: given for n, given in {**value, **changes}.items() if given is not WITHOUT}


def problem(line: bytes) -> str:
    """The problem of a line."""
    with pytest.raises(Invalid) as caught:
        read(line)
    return str(caught.value)


# A document with one wrong field → its problem.
WRONG: list[tuple[str, Any, str]] = [
    ("title", WITHOUT, "Object missing required field `title`"),
    ("title", None, "title: Expected `str`, got `null`"),
    ("title", " \n", f"title: {BLANK}"),
    ("title", "", f"title: {BLANK}"),
    ("title", "x" * 501, "title: Expected `str` of length <= 500"),
    ("title", "a\0b", f"title: {BLANK}"),
    (
        "title",
        "a\ud800b",
        "JSON is malformed: unexpected end of escaped utf-16 surrogate pair (byte 18)",
    ),
    ("status", "DONE", "status: Invalid enum value 'DONE'"),
    ("status", "X' - at `$.title`", 'status: Invalid enum value "X\' - at `$.title`"'),
    ("status", ["SENT"], "status: Expected `str`, got `array`"),
    ("fileName", "x" * 256, "fileName: Expected `str` of length <= 255"),
    ("signingOrder", "RANDOM", "signingOrder: Invalid enum value 'RANDOM'"),
    ("createdAt", None, "createdAt: Expected `datetime`, got `null`"),
    ("createdAt", 1767225600, "createdAt: Expected `datetime`, got `int`"),
    ("createdAt", "2026-03-01", f"createdAt: {RFC3339}"),
    ("createdAt", "2026-03-01T09:30:00", f"createdAt: {OFFSET}"),
    ("createdAt", "2026-02-30T09:30:00Z", f"createdAt: {RFC3339}"),
    ("createdAt", "0001-01-01T00:00:00+14:00", f"createdAt: {YEARS}"),
    ("expiresAt", "9999-12-31T23:59:59-14:00", f"expiresAt: {YEARS}"),
    ("deletedAt", True, "deletedAt: Expected `datetime | null`, got `bool`"),
    ("pageCount", 0, f"pageCount: {COUNT}"),
    ("pageCount", True, "pageCount: Expected `int`, got `bool`"),
    ("pageCount", 2.5, "pageCount: Expected `int`, got `float`"),
    ("fileSize", -1, f"fileSize: {COUNT}"),
    ("recipients", WITHOUT, "Object missing required field `recipients`"),
    ("recipients", [signer()] * 1001, "recipients: Expected `array` of length <= 1000"),
    ("recipients", [signer(), 5], f"recipients[1]: {NO_OBJECT} `int`"),
    ("files", "x", f"files: {NO_OBJECT} `str`"),
    ("files", {}, "files: Object missing required field `original`"),
    ("files", {"original": " "}, f"files.original: {BLANK}"),
    ("files", {"original": "a\0.pdf"}, f"files.original: {BLANK}"),
    ("files", {"original": "x", "sealed": "x"}, "files: Object contains unknown field `sealed`"),
    ("titel", "Lease", "Object contains unknown field `titel`"),
    ("page_count", 2, "Object contains unknown field `page_count`"),
    ("id", "x", "id: Invalid UUID"),
    ("completedAt", {}, "completedAt: Expected `datetime | null`, got `object`"),
]
WRONG_RECIPIENT: list[tuple[str, Any, str]] = [
    ("name", "\t", BLANK),
    ("name", "x" * 201, "Expected `str` of length <= 200"),
    ("email", "ada", "must be an e-mail address"),
    ("email", "a@b.example\nBcc: x", "must be an e-mail address"),
    ("email", "a" * 250 + "@b.example", "Expected `str` of length <= 254"),
    ("role", "BOSS", "Invalid enum value 'BOSS'"),
    ("status", None, "Expected `str`, got `null`"),
    ("order", -1, "Expected `int` >= 0"),
    ("order", 2**31, "Expected `int` <= 2147483647"),
    ("viewedAt", "2026-03-01T09:30", RFC3339),
    ("declinedAt", "9999-03-01T09:30:00Z", YEARS),
    ("declineReason", "x" * 2001, "Expected `str` of length <= 2000"),
    ("id", "1", "Invalid UUID"),
]
WRONG += [
    ("recipients", [signer(), {**signer(), field: value}], f"recipients[1].{field}: {text}")
    for field, value, text in WRONG_RECIPIENT
]


def test_read_names_the_field_that_is_wrong() -> None:
    for field, value, expected in WRONG:
        assert problem(json.dumps(changed(sent(), {field: value})).encode()) == expected


REQUIRED = "is required for a COMPLETED document"
FILES = completed()["files"]


# Changes of a completed document → its problem.
INCOMPLETE: list[tuple[Value, str]] = [
    ({"completedAt": WITHOUT}, f"completedAt: {REQUIRED}"),
    ({"completedAt": None}, f"completedAt: {REQUIRED}"),
    ({"files": FILES | {"signed": None}}, f"files.signed: {REQUIRED}"),
    ({"files": changed(FILES, {"certificate": WITHOUT})}, f"files.certificate: {REQUIRED}"),
    *(
        (
            {"status": status, "files": FILES | {other: None}},
            f"files.{file_type}: must be absent unless the status is COMPLETED",
        )
        for status in sorted(set(Document.Status) - {Document.Status.COMPLETED})
        for file_type, other in (("signed", "certificate"), ("certificate", "signed"))
    ),
]


def test_read_requires_what_a_completed_document_has_and_allows_it_to_no_other() -> None:
    for changes, expected in INCOMPLETE:
        assert problem(json.dumps(changed(completed(), changes)).encode()) == expected


NO_OBJECTS = {
    b"5": f"{NO_OBJECT} `int`",
    b"[": f"{NO_OBJECT} `array`",
    b"hello": "JSON is malformed: invalid character (byte 0)",
    b'{"id"': "Input data was truncated",
    b'{"title": tru}': "JSON is malformed: invalid character (byte 14)",
    b'{"title": "\xff"}': "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    "{}".encode("utf-16"): "JSON is malformed: invalid character (byte 0)",
    b'{"links":' + b"[" * 100_000: "maximum recursion depth exceeded while deserializing an object",
}


def test_read_says_why_a_line_is_not_a_json_object() -> None:
    assert {line: problem(line) for line in NO_OBJECTS} == NO_OBJECTS


def test_read_accepts_as_many_recipients_as_a_document_may_have() -> None:
    line = json.dumps(sent(recipients=[signer()] * MAX_RECIPIENTS)).encode()
    assert len(read(line).recipients) == 1000


def test_problems_shows_the_first_ones_without_what_could_change_a_terminal() -> None:
    problems = Problems()
    problems.raise_if_any("file")
    for number in range(2 * SHOWN_PROBLEMS, 0, -1):
        problems.append((number, "\x1b[31mred\n" + "x" * 1000))
    with pytest.raises(ImportRefused) as caught:
        problems.raise_if_any("file")
    first, *shown, last = str(caught.value).splitlines()
    assert first == "200 problems in file; nothing was imported."
    assert shown[0] == rf"line 1, \x1b[31mred\n{'x' * 291}"
    assert len(shown) == SHOWN_PROBLEMS
    assert last == "and 100 more"


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every kind."""
    outside = tmp_path_factory.mktemp("outside").resolve()
    path = outside / "folder"
    (path / "inside").mkdir(parents=True)
    (outside / "out.pdf").write_bytes(pdf("out"))
    for name, content in {
        "original.pdf": pdf("the original", 2),
        "inside/deep.pdf": pdf("deep"),
        "free.pdf": locked(""),
        "text.pdf": b"Not a PDF, whatever its name says.",
        "empty.pdf": b"",
        "half.pdf": pdf("half")[:300],
        "locked.pdf": locked("secret"),
        "blank.pdf": written(PdfWriter()),
    }.items():
        (path / name).write_bytes(content)
    (path / "link.pdf").symlink_to(outside / "out.pdf")
    (path / "links").symlink_to(outside)
    (path / "near.pdf").symlink_to("inside/deep.pdf")
    (path / "circle").symlink_to("circle")
    os.mkfifo(path / "fifo.pdf")
    return path


@pytest.fixture(scope="module")
def counter() -> Iterator[PageCounter]:
    with PageCounter() as started:
        yield started


UNREADABLE = "is not a PDF that can be read"
ABSENT = "is not there, or is not a file"
OUTSIDE = "leads out of the imported file's folder"


BAD_FILES = {
    **dict.fromkeys(("no.pdf", "original.pdf/x", ".", "inside", "fifo.pdf"), ABSENT),
    "x" * 4000: "cannot be read (File name too long)",
    **dict.fromkeys(("/etc/hostname", "../out.pdf", "link.pdf", "links/out.pdf"), OUTSIDE),
    "text.pdf": f"{UNREADABLE} (PdfStreamError('Stream has ended unexpectedly'))",
    "empty.pdf": f"{UNREADABLE} (EmptyFileError('Cannot read an empty file'))",
    "half.pdf": f"{UNREADABLE} (PdfStreamError('Stream has ended unexpectedly'))",
    "locked.pdf": f"{UNREADABLE} (FileNotDecryptedError('File has not been decrypted'))",
    "blank.pdf": "is a PDF without pages",
    **dict.fromkeys(("circle", "circle/x.pdf"), ""),  # by Python's version
}


def test_check_file_says_what_is_wrong_with_it(folder: Path, counter: PageCounter) -> None:
    for path, expected in BAD_FILES.items():
        with pytest.raises(Invalid) as caught:
            check_file(folder, counter, path)
        assert str(caught.value) == (expected or str(caught.value))


def test_check_file_accepts_what_is_readable_in_the_folder(
    folder: Path, counter: PageCounter
) -> None:
    for path in ("free.pdf", "near.pdf", "inside/../inside/deep.pdf"):
        assert check_file(folder, counter, path).pages == 1


SIZE = len(pdf("the original", 2))


def test_check_files_compares_them_with_the_document(folder: Path, counter: PageCounter) -> None:
    for changes, expected in (
        ({"pageCount": 3}, "pageCount: is 3, but the original has 2"),
        ({"pageCount": 2**31}, "pageCount: is 2147483648, but the original has 2"),
        ({"fileSize": 1}, f"fileSize: is 1, but the original has {SIZE}"),
        ({"fileSize": 2**63}, f"fileSize: is {2**63}, but the original has {SIZE}"),
        ({"files": {"original": "no.pdf"}}, f"files.original: 'no.pdf' {ABSENT}"),
    ):
        entry = read(json.dumps(sent(**changes)).encode())
        with pytest.raises(Invalid) as caught:
            check_files(entry, lambda name: check_file(folder, counter, name))
        assert str(caught.value) == expected
