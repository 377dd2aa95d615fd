"""Validation of imported documents: every problem names its field and what the field must be."""

import hashlib
import io
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from pypdf import PdfWriter

from documents.importing.files import Folder
from documents.importing.parser import LINE_LENGTH, lines, parse
from documents.importing.problems import ImportRefused, Invalid, Problems
from documents.importing.validation import MAX_RECIPIENTS, check_files, label, validate
from documents.models import Document, Recipient
from tests.support.factories import pdf
from tests.support.inbox import Value, completed, sent, signer

STATUSES = ", ".join(Document.Status.values)
TIME = "must be an RFC 3339 date and time with its offset, such as 2026-03-01T09:30:00Z"
UUID = "must be a UUID of 36 characters"
COUNT = "must be a whole number from 1"
EMAIL = "must be an e-mail address"
LIST = "must be a list of at most 1,000 objects"
ORDER = "must be a whole number from 0 to 2147483647"
YEARS = "must be in the years 2 to 9998"
WITHOUT = object()


def text(length: int, without: str = "NUL or lone surrogates") -> str:
    return f"must be a text of 1 to {length} characters, not only white space, without {without}"


FILE_NAME = text(255, "control characters or surrogates")


def changed(value: Value, changes: Value) -> Value:
    """The document with some fields changed, or taken away."""
    return {n: given for n, given in {**value, **changes}.items() if given is not WITHOUT}


def problem(value: Value) -> str:
    """The problem of a document that is read from its JSON."""
    with pytest.raises(Invalid) as caught:
        validate(parse(json.dumps(value).encode()))
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("title", WITHOUT, "is missing"),
        ("title", None, text(500)),
        ("title", 5, text(500)),
        ("title", " ", f"{text(500)}, not ' '"),
        ("title", "", f"{text(500)}, not ''"),
        ("title", "x" * 501, f"{text(500)}, not '{'x' * 60}…'"),
        ("title", "a\0b", rf"{text(500)}, not 'a\x00b'"),
        ("title", "a\ud800b", rf"{text(500)}, not 'a\ud800b'"),
        ("status", WITHOUT, "is missing"),
        ("status", "DONE", f"must be one of {STATUSES}, not 'DONE'"),
        ("status", "X' - at `$.title`", f'must be one of {STATUSES}, not "X\' - at `$.title`"'),
        ("status", ["SENT"], f"must be one of {STATUSES}"),
        ("fileName", WITHOUT, "is missing"),
        ("fileName", "x" * 256, f"{FILE_NAME}, not '{'x' * 60}…'"),
        ("fileName", "a\nb.pdf", rf"{FILE_NAME}, not 'a\nb.pdf'"),
        ("fileName", "a\x85b.pdf", rf"{FILE_NAME}, not 'a\x85b.pdf'"),
        ("signingOrder", WITHOUT, "is missing"),
        ("signingOrder", "RANDOM", "must be one of PARALLEL, SEQUENTIAL, not 'RANDOM'"),
        ("createdAt", WITHOUT, "is missing"),
        ("createdAt", None, TIME),
        ("createdAt", 1767225600, TIME),
        ("createdAt", "2026-03-01", f"{TIME}, not '2026-03-01'"),
        ("createdAt", "2026-03-01T09:30:00", f"{TIME}, not '2026-03-01T09:30:00'"),
        ("createdAt", "2026-02-30T09:30:00Z", f"{TIME}, not '2026-02-30T09:30:00Z'"),
        ("createdAt", "2026-W01-1T00Z", f"{TIME}, not '2026-W01-1T00Z'"),
        ("createdAt", "0001-01-01T00:00:00+14:00", YEARS),
        ("createdAt", "9999-12-31T23:59:59-14:00", YEARS),
        ("sentAt", "0001-06-01T00:00:00Z", YEARS),
        ("sentAt", "yesterday", f"{TIME}, not 'yesterday'"),
        ("expiresAt", True, TIME),
        ("completedAt", {}, TIME),
        ("deletedAt", True, TIME),
        ("pageCount", 0, COUNT),
        ("pageCount", True, COUNT),
        ("pageCount", 2.0, COUNT),
        ("pageCount", "2", f"{COUNT}, not '2'"),
        ("pageCount", None, COUNT),
        ("pageCount", float("nan"), COUNT),
        ("fileSize", -1, COUNT),
        ("fileSize", float("inf"), COUNT),
        ("recipients", WITHOUT, "is missing"),
        ("recipients", None, LIST),
        ("recipients", {"name": "Ada"}, LIST),
        ("recipients", [signer()] * (MAX_RECIPIENTS + 1), LIST),
        ("files", WITHOUT, "is missing"),
        ("files", "x", "must be an object with signed, original, certificate, not 'x'"),
        ("titel", "Lease", "is not a field"),
        ("page_count", 2, "is not a field"),
        ("id", None, UUID),
        ("id", "0" * 32, f"{UUID}, not '{'0' * 32}'"),
        ("x\x1b[31m", 1, "is not a field"),
        ("a` - at `$.b", 1, "is not a field"),
    ],
)
def test_validate_names_a_field_of_a_document(field: str, value: Any, expected: str) -> None:
    found = problem(changed(sent(), {field: value}))
    if expected == "is not a field":
        assert found.endswith(": is not a field")
        assert found.isprintable()
    else:
        assert found == f"{field}: {expected}"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", WITHOUT, "is missing"),
        ("name", "x" * 201, f"{text(200)}, not '{'x' * 60}…'"),
        ("email", "ada", f"{EMAIL}, not 'ada'"),
        ("email", "a@b.example\nBcc: x", rf"{EMAIL}, not 'a@b.example\nBcc: x'"),
        ("email", "a" * 250 + "@b.example", f"{text(254)}, not '{'a' * 60}…'"),
        ("role", "BOSS", "must be one of SIGNER, APPROVER, CC, VIEWER, not 'BOSS'"),
        ("status", None, f"must be one of {', '.join(Recipient.Status.values)}"),
        ("order", "1", f"{ORDER}, not '1'"),
        ("order", -1, ORDER),
        ("order", 2**31, ORDER),
        ("viewedAt", "2026-03-01T09:30", f"{TIME}, not '2026-03-01T09:30'"),
        ("viewedAt", "9999-03-01T09:30:00Z", YEARS),
        ("declineReason", "x" * 2001, f"{text(2000)}, not '{'x' * 60}…'"),
        ("id", "1", f"{UUID}, not '1'"),
        ("id", None, UUID),
        ("mail", "ada@example.com", "is not a field"),
    ],
)
def test_validate_names_a_field_of_a_recipient(field: str, value: Any, expected: str) -> None:
    bad = changed(signer(), {field: value})
    assert problem(sent(recipients=[signer(), bad])) == f"recipients[1].{field}: {expected}"


@pytest.mark.parametrize("item", [5, None, [], "Ada"])
def test_validate_names_a_recipient_that_is_not_an_object(item: Any) -> None:
    found = problem(sent(recipients=[signer(), item]))
    assert found.startswith("recipients[1]: must be an object")


@pytest.mark.parametrize("changes", [{"status": "\ud800"}, {"createdAt": "\ud800"}, {"\ud800": 1}])
def test_validate_refuses_half_of_a_surrogate_pair_anywhere(changes: Value) -> None:
    assert "lone surrogate" in problem(sent(**changes))


def test_validate_accepts_as_many_recipients_as_a_document_may_have() -> None:
    assert len(validate(sent(recipients=[signer()] * MAX_RECIPIENTS)).recipients) == 1000


@pytest.mark.parametrize("file_type", ["signed", "certificate"])
def test_validate_allows_signed_files_for_a_completed_document_only(file_type: str) -> None:
    files = {"original": "original.pdf", file_type: "x.pdf"}
    for status in set(Document.Status) - {Document.Status.COMPLETED}:
        expected = f"files.{file_type}: must be absent unless the status is COMPLETED"
        assert problem(sent(status=status, files=files)) == expected


@pytest.mark.parametrize("value", [WITHOUT, None])
def test_validate_requires_when_a_completed_document_was_completed(value: Any) -> None:
    assert (
        problem(changed(completed(), {"completedAt": value}))
        == "completedAt: is required for a COMPLETED document"
    )


@pytest.mark.parametrize(
    ("file_type", "path", "expected"),
    [
        ("original", WITHOUT, "is missing"),
        ("original", None, text(4096)),
        ("original", 5, text(4096)),
        ("original", "a\0.pdf", rf"{text(4096)}, not 'a\x00.pdf'"),
        ("signed", None, "is required for a COMPLETED document"),
        ("certificate", None, "is required for a COMPLETED document"),
        ("certificate", WITHOUT, "is required for a COMPLETED document"),
        ("sealed", "signed.pdf", "is not a field"),
    ],
)
def test_validate_names_a_path_of_a_file(file_type: str, path: Any, expected: str) -> None:
    value = completed()
    value["files"] = changed(value["files"], {file_type: path})
    assert problem(value) == f"files.{file_type}: {expected}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": "X\x1b", "title": "T"}, r"document X\x1b"),
        ({"id": 5, "title": "\ud800" + "T" * 70}, rf"document \ud800{'T' * 59}…"),
        ({}, "a document without id and title"),
    ],
)
def test_label_is_safe_for_a_terminal(value: Value, expected: str) -> None:
    assert label(value) == expected


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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """A folder with files of every kind."""
    outside = tmp_path_factory.mktemp("outside")
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
    opened = Folder(path)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("no.pdf", "is not there"),
        ("original.pdf/x", "is not there"),
        ("x" * 4000, "cannot be read (File name too long)"),
        (".", "is not a file"),
        ("inside", "is not a file"),
        ("fifo.pdf", "is not a file"),
        ("/etc/hostname", "must be a path relative to the imported file"),
        ("../out.pdf", "leads out of the imported file's folder"),
        ("link.pdf", "leads out of the imported file's folder"),
        ("links/out.pdf", "leads out of the imported file's folder"),
        ("text.pdf", "is not a PDF"),
        ("empty.pdf", "is not a PDF"),
        ("half.pdf", "is a PDF that cannot be read (PdfStreamError)"),
        ("locked.pdf", "is a PDF locked with a password"),
        ("blank.pdf", "is a PDF without pages"),
    ],
)
def test_check_files_names_a_file_that_is_wrong(folder: Folder, path: str, expected: str) -> None:
    document = validate(sent(files={"original": path}))
    quoted = f"'{path}'" if len(path) < 60 else f"'{'x' * 60}…'"
    with pytest.raises(Invalid) as caught:
        check_files(document, folder)
    assert str(caught.value) == f"files.original: {quoted} {expected}"


@pytest.mark.parametrize("path", ["circle", "circle/x.pdf"])
def test_check_files_survives_links_in_a_circle(folder: Folder, path: str) -> None:
    with pytest.raises(Invalid, match=r"\A(cannot be read \(|is not there)"):  # by Python's version
        folder.check(path)


@pytest.mark.parametrize("path", ["free.pdf", "near.pdf", "inside/../inside/deep.pdf"])
def test_check_files_accepts_what_is_readable_in_the_folder(folder: Folder, path: str) -> None:
    assert folder.check(path).pages == 1


@pytest.mark.parametrize("path", ["link.pdf", "links/out.pdf", "near.pdf"])
def test_open_follows_no_link_that_replaced_a_checked_file(folder: Folder, path: str) -> None:
    with pytest.raises(OSError, match=r"Too many levels of symbolic links|Not a directory"):
        folder.open(path)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("pageCount", 3, "is 3, but the original has 2"),
        ("pageCount", 2**31, "is 2147483648, but the original has 2"),
        ("fileSize", 1, f"is 1, but the original has {len(pdf('the original', 2))}"),
        ("fileSize", 2**63, f"is {2**63}, but the original has {len(pdf('the original', 2))}"),
    ],
)
def test_check_files_compares_page_count_and_size_with_the_original(
    folder: Folder, field: str, value: int, expected: str
) -> None:
    with pytest.raises(Invalid) as caught:
        check_files(validate(sent(**{field: value})), folder)
    assert str(caught.value) == f"{field}: {expected}"


def line_problems(content: bytes) -> list[str]:
    """The problems of a file's lines, before their fields are looked at."""
    problems = Problems()
    for number, line in lines(io.BytesIO(content), problems, hashlib.sha256()):
        try:
            parse(line)
        except Invalid as exc:
            problems.add(number, str(exc))
    with pytest.raises(ImportRefused) as caught:
        problems.raise_if_any("file")
    return str(caught.value).splitlines()[1:]


ARRAY = "is a JSON array; write one object a line instead: jq -c '.[]' FILE > FILE.jsonl"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n5", ["line 2, is not a JSON object"]),
        (b"hello", ["line 1, column 1 is not JSON: Expecting value"]),
        (b"[", [f"line 1, {ARRAY}"]),
        (b"[] []", [f"line 1, {ARRAY}"]),
        (b"\n \t[1,\n2]", [f"line 2, {ARRAY}"]),
        (b"\xef\xbb\xbf[1 2]", [f"line 1, {ARRAY}"]),
        (b'"a"\n"b"', ["line 1, is not a JSON object", "line 2, is not a JSON object"]),
        (b'{} {"b": 1}', ["line 1, column 4 is not JSON: Extra data"]),
        (b'"a"\n[]', ["line 1, is not a JSON object", "line 2, is not a JSON object"]),
        (b'{"a": tru}', ["line 1, column 7 is not JSON: Expecting value"]),
        (b'{"a": "x', ["line 1, column 7 is not JSON: Unterminated string starting at"]),
        (b'{"a"\r\n', ["line 1, column 5 is not JSON: Expecting ':' delimiter"]),
        (b'\n"\xff"', ["line 2, is not UTF-8"]),
        (
            b'{}\n\n{"a":\n"\xe9"}',
            ["line 3, column 6 is not JSON: Expecting value"] * 1 + ["line 4, is not UTF-8"],
        ),
        ("{}".encode("utf-16"), ["line 1, is not UTF-8"]),
        (b'{"a":' * 100_000, ["line 1, is nested too deeply"]),
        (b'{"a":' + b"[" * 100_000, ["line 1, is nested too deeply"]),
        (b'{"a": 1, "b": 2, "a": 3}', ["line 1, the field a is given twice"]),
        (b'{"a": [{"b\\u001b": 1, "b\\u001b": 2}]}', [r"line 1, the field b\x1b is given twice"]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_lines_and_parse_name_the_line_of_what_is_not_a_json_object(
    content: bytes, expected: list[str]
) -> None:
    assert line_problems(content) == expected


def test_parse_accepts_a_number_of_thousands_of_digits_which_no_field_accepts() -> None:
    content = json.dumps(sent(pageCount=123454321)).replace("123454321", "9" * 5000)
    with pytest.raises(Invalid, match=f"pageCount: {COUNT}"):
        validate(parse(content.encode()))


def test_lines_skip_a_line_that_is_too_long_and_go_on() -> None:
    content = b'{"a": "' + b"x" * (2 * LINE_LENGTH) + b'"}\n5\n' + b" " * LINE_LENGTH + b"\n"
    assert line_problems(content) == [
        "line 1, is longer than 8,388,608 bytes",
        "line 2, is not a JSON object",
        "line 3, is longer than 8,388,608 bytes",
    ]
