"""What a line of an imported file may be, and which PDFs it may name."""

import io
import json
import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter

from documents.importing.entries import MAX_RECIPIENTS, Invalid, read
from documents.importing.files import local_file
from documents.pages import PageCounter
from tests.support.factories import pdf
from tests.support.inbox import Value, completed, sent, signer

WITHOUT = object()
BLANK = "must not be blank"
FILES = "files: must be the original, and of a COMPLETED document signed and certificate too"
REQUIRED = "is required for a COMPLETED document"
YEARS = "must be in the years 2 to 9998"
NO_OBJECT = "Expected `object`, got"
ADDRESS = "must have one @, and no spaces"

# A document with one wrong field → its problem.
WRONG: list[tuple[str, Any, str]] = [
    ("title", WITHOUT, "Object missing required field `title`"),
    ("title", " \n", f"title: {BLANK}"),
    ("title", "x" * 501, "title: Expected `str` of length <= 500"),
    ("title", "a\0b", "has a NUL character, which PostgreSQL does not store"),
    (
        "title",
        "a\ud800b",
        "JSON is malformed: unexpected end of escaped utf-16 surrogate pair (byte 18)",
    ),
    ("status", "X' - at `$.title`", 'status: Invalid enum value "X\' - at `$.title`"'),
    ("fileName", "", f"fileName: {BLANK}"),
    ("signingOrder", "RANDOM", "signingOrder: Invalid enum value 'RANDOM'"),
    ("createdAt", "2026-03-01", "createdAt: Invalid RFC3339 encoded datetime"),
    (
        "createdAt",
        "2026-03-01T09:30:00",
        "createdAt: Expected `datetime` with a timezone component",
    ),
    ("createdAt", "0001-01-01T00:00:00+14:00", f"createdAt: {YEARS}"),
    ("expiresAt", "9999-12-31T23:59:59-14:00", f"expiresAt: {YEARS}"),
    ("pageCount", 2.5, "pageCount: Expected `int`, got `float`"),
    ("recipients", [signer()] * 1001, "recipients: Expected `array` of length <= 1000"),
    ("recipients", [signer(), 5], f"recipients[1]: {NO_OBJECT} `int`"),
    ("files", {}, FILES),
    ("files", {"original": "x", "signed": "x"}, FILES),
    (
        "files",
        {"original": "x", "sealed": "x"},
        "Invalid enum value 'sealed' - at `key` in `$.files`",
    ),
    ("titel", "Lease", "Object contains unknown field `titel`"),
    ("id", "x", "id: Invalid UUID"),
    *(
        ("recipients", [signer(), {**signer(), field: value}], f"recipients[1].{field}: {text}")
        for field, value, text in (
            ("name", "x" * 201, "Expected `str` of length <= 200"),
            *(("email", each, ADDRESS) for each in ("ada", "a@b@c", "a b@c", "a@b\nBcc: x", "@b")),
            ("order", 2**31, "Expected `int` <= 2147483647"),
            ("declinedAt", "9999-03-01T09:30:00Z", YEARS),
            ("id", "1", "Invalid UUID"),
        )
    ),
]
WRONG_COMPLETED: list[tuple[str, Any, str]] = [
    ("completedAt", None, f"completedAt: {REQUIRED}"),
    ("files", completed()["files"] | {"signed": None}, FILES),
    ("status", "SENT", FILES),
]
NO_OBJECTS = {
    b"[": f"{NO_OBJECT} `array`",
    b"hello": "JSON is malformed: invalid character (byte 0)",
    b'{"title": "\xff"}': "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    b'{"links":' + b"[" * 100_000: "maximum recursion depth exceeded while deserializing an object",
}


def problem(line: bytes) -> str:
    with pytest.raises(Invalid) as caught:
        read(line)
    return str(caught.value)


def changed(value: Value, field: str, given: Any) -> bytes:
    fields = {**value, field: given}
    return json.dumps({n: each for n, each in fields.items() if each is not WITHOUT}).encode()


def test_read_names_what_is_wrong_with_a_line() -> None:
    assert {line: problem(line) for line in NO_OBJECTS} == NO_OBJECTS
    for value, wrong in ((sent(), WRONG), (completed(), WRONG_COMPLETED)):
        for field, given, expected in wrong:
            assert problem(changed(value, field, given)) == expected


def test_read_accepts_what_was_signed_elsewhere() -> None:
    for field, text in (
        ("email", "try..this..0511@docomo.ne.jp"),
        ("email", "abc.@docomo.ne.jp"),
        ("email", "jürgen@müller.example"),
        ("email", '"ada/lovelace"@[192.0.2.1]'),
        ("name", ""),
    ):
        [recipient] = read(
            json.dumps(sent(recipients=[signer(**{field: text})])).encode()
        ).recipients
        assert getattr(recipient, field) == text
    [recipient] = read(json.dumps(sent(recipients=[signer(declineReason="")])).encode()).recipients
    assert recipient.decline_reason is None
    line = json.dumps(sent(recipients=[signer()] * MAX_RECIPIENTS)).encode()
    assert len(read(line).recipients) == 1000


def written(writer: PdfWriter) -> bytes:
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
        "inside/deep.pdf": pdf("deep", 2),
        "free.pdf": locked(""),
        "text.pdf": b"Not a PDF, whatever its name says.",
        "late.pdf": b" " * 1020 + b"%PDF-1.7",
        "half.pdf": pdf("half")[:300],
        "locked.pdf": locked("secret"),
        "blank.pdf": written(PdfWriter()),
        "before.pdf": b"HTTP/1.1 200 OK\r\n\r\n" + pdf("before"),
        unicodedata.normalize("NFD", "Verträge.pdf"): pdf("mac"),
    }.items():
        (path / name).write_bytes(content)
    (path / "link.pdf").symlink_to(outside / "out.pdf")
    (path / "links").symlink_to(outside)
    (path / "near.pdf").symlink_to("inside/deep.pdf")
    (path / "circle").symlink_to("circle")
    os.mkfifo(path / "fifo.pdf")
    return path


ABSENT = "is not there, or is not a file"
BAD_FILES = {
    **dict.fromkeys(("no.pdf", "free.pdf/x", ".", "inside", "fifo.pdf"), ABSENT),
    **dict.fromkeys(
        ("/etc/hostname", "../out.pdf", "link.pdf", "links/out.pdf"),
        "leads out of the imported file's folder",
    ),
    **dict.fromkeys(("text.pdf", "late.pdf"), "is not a PDF"),
    **dict.fromkeys(("circle", "circle/x.pdf", "x" * 4000), ""),  # by Python's version
}


def test_local_file_says_what_is_wrong_with_it(folder: Path) -> None:
    for name, expected in BAD_FILES.items():
        with pytest.raises(Invalid) as caught:
            local_file(folder, name)
        assert str(caught.value).startswith(f"files: {name!r} {expected}")


def test_local_file_accepts_what_begins_as_a_pdf_in_the_folder(folder: Path) -> None:
    for name in ("near.pdf", "inside/../inside/deep.pdf", "half.pdf", "locked.pdf", "before.pdf"):
        assert local_file(folder, name).path.name in (name, "deep.pdf")
    assert local_file(folder, "Verträge.pdf").size == len(pdf("mac"))


@pytest.fixture
def counter() -> Iterator[PageCounter]:
    with PageCounter() as started:
        yield started


def test_pages_are_counted_or_it_is_said_why_not(folder: Path, counter: PageCounter) -> None:
    for name, expected in {
        "inside/deep.pdf": 2,
        "free.pdf": 1,
        "half.pdf": "cannot be read as a PDF (PdfStreamError('Stream has ended unexpectedly'))",
        "locked.pdf": "needs a password to be read",
        "blank.pdf": "has no pages",
        "no.pdf": "cannot be read as a PDF (FileNotFoundError(2, 'No such file or directory'))",
        "before.pdf": 1,
    }.items():
        assert counter.count(folder / name) == expected
