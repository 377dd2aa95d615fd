"""What a line of an imported file may be, and which PDFs it may name."""

import io
import json
import os
import unicodedata
from pathlib import Path

import pytest
from pypdf import PdfWriter

from documents.importing.entries import MAX_RECIPIENTS, Invalid, read
from documents.importing.files import count_pages, local_file
from tests.support.factories import pdf
from tests.support.inbox import Value, completed, sent, signer

FILES = "files: original, and of a COMPLETED document signed and certificate too"
YEARS = "must be in the years 2 to 9998"

# A document's wrong fields → their problem.
WRONG: list[tuple[Value, str]] = [
    (sent(title=None), "Expected `str`, got `null` - at `$.title`"),
    (sent(title=" \n"), "Expected `str` matching regex '\\\\S' - at `$.title`"),
    (sent(titel="Lease"), "Object contains unknown field `titel`"),
    (sent(createdAt="0001-01-01T00:00:00+14:00"), f"created_at {YEARS}"),
    (sent(expiresAt="9999-12-31T23:59:59-14:00"), f"expires_at {YEARS}"),
    (sent(recipients=[signer()] * 1001), "Expected `array` of length <= 1000 - at `$.recipients`"),
    (sent(files={}), FILES),
    (sent(files=completed()["files"]), FILES),
    (completed(files=sent()["files"]), FILES),
    (completed(completedAt=None), "a COMPLETED document needs completedAt"),
    (
        sent(createdAt="2026-03-01T09:30:00"),
        "Expected `datetime` with a timezone component - at `$.createdAt`",
    ),
    (sent(recipients=[signer(declinedAt="9999-03-01T09:30:00Z")]), f"declined_at {YEARS}"),
    *(
        (
            sent(recipients=[signer(email=each)]),
            f"the email {each!r} must have one @, and no spaces",
        )
        for each in ("ada", "a@b@c", "a b@c", "a@b\nBcc: x", "@b")
    ),
]
NO_OBJECTS = {
    b"hello": "JSON is malformed: invalid character (byte 0)",
    b'{"title": "\xff"}': "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    b'{"links":' + b"[" * 100_000: "maximum recursion depth exceeded while deserializing an object",
}


def test_read_names_what_is_wrong_with_a_line() -> None:
    lines = NO_OBJECTS | {json.dumps(value).encode(): expected for value, expected in WRONG}
    for line, expected in lines.items():
        with pytest.raises(Invalid) as caught:
            read(line)
        assert str(caught.value) == expected


@pytest.mark.parametrize(
    "recipient",
    [
        {"email": "try..this..0511@docomo.ne.jp"},
        {"email": "jürgen@müller.example"},
        {"email": '"ada/lovelace"@[192.0.2.1]'},
    ],
)
def test_read_accepts_what_was_signed_elsewhere(recipient: Value) -> None:
    recipients = [signer(**recipient)] * MAX_RECIPIENTS
    assert len(read(json.dumps(sent(recipients=recipients)).encode()).recipients) == 1000


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


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("no.pdf", "free.pdf/x", ".", "inside", "fifo.pdf"), "is not a file in the"),
        (("/etc/hostname", "../out.pdf", "link.pdf", "links/out.pdf"), "is not a file in the"),
        (("text.pdf", "late.pdf"), "is not a PDF"),
        (("circle", "circle/x.pdf", "x" * 4000, "a\0.pdf"), ""),  # by Python's version
    ],
    ids=["absent", "outside", "no PDF", "unreadable"],
)
def test_local_file_says_what_is_wrong_with_it(
    folder: Path, names: tuple[str, ...], problem: str
) -> None:
    for name in names:
        with pytest.raises(Invalid) as caught:
            local_file(folder, name)
        assert str(caught.value).startswith(f"{name!r} {problem}")


def test_local_file_accepts_what_begins_as_a_pdf_in_the_folder(folder: Path) -> None:
    for name in ("near.pdf", "inside/../inside/deep.pdf", "half.pdf", "locked.pdf", "before.pdf"):
        assert local_file(folder, name).path.name in (name, "deep.pdf")
    assert local_file(folder, "Verträge.pdf").size == len(pdf("mac"))


def test_a_file_that_is_still_being_written_is_not_uploaded(tmp_path: Path) -> None:
    """Its digest, which the audit log has, must be that of the object."""
    path = tmp_path.resolve() / "growing.pdf"
    path.write_bytes(pdf("growing")[:200])
    file = local_file(path.parent, path.name)
    path.write_bytes(pdf("growing"))
    with pytest.raises(OSError, match="has changed since"):
        file.upload()


def test_pages_are_counted_or_it_is_said_why_not(folder: Path) -> None:
    for name, expected in {
        "inside/deep.pdf": 2,
        "locked.pdf": "FileNotDecryptedError('File has not been decrypted')",
        "blank.pdf": "it has none",
    }.items():
        assert count_pages(folder / name) == expected
