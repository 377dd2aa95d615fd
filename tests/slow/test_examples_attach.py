"""examples/attach.py: downloads a signed file, given an event's id, or prints one clear line."""

import hashlib
from pathlib import Path
from urllib.parse import unquote

import pytest

from documents.models import Document
from tests.support import factories
from tests.support.examples import Examples, Requests, file_size_limit
from tests.support.factories import Tenant
from tests.support.proxy import Proxy


@pytest.fixture
def lease(acme: Tenant) -> Document:
    return factories.document(acme.workspace, "COMPLETED", file_name="Lease № 5/契約書.pdf")


def files(folder: Path) -> dict[str, str]:
    """The paths of all files in a folder, with their SHA-256."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_attach_saves_the_signed_file_under_its_own_name_and_prints_its_path(
    examples: Examples, lease: Document
) -> None:
    path = f"attachments/{lease.id}/Lease № 5_契約書 – signed.pdf"
    assert lease.signed is not None
    for _ in range(2):  # events may be delivered twice
        assert examples.run("attach", str(lease.id)) == f"{path}\n"
        assert files(examples.folder) == {path: lease.signed.sha256}


def test_attach_saves_an_id_in_upper_case_in_the_same_folder(
    examples: Examples, lease: Document
) -> None:
    for id in (str(lease.id), str(lease.id).upper()):
        examples.run("attach", id)
    assert [folder.name for folder in (examples.folder / "attachments").iterdir()] == [
        str(lease.id)
    ]


def test_attach_keeps_files_of_the_same_name_apart(examples: Examples, acme: Tenant) -> None:
    made = [factories.document(acme.workspace, "COMPLETED", title=title) for title in "ab"]
    for document in made:
        examples.run("attach", str(document.id), "--to", "there")
    assert files(examples.folder / "there") == {
        f"{document.id}/agreement – signed.pdf": document.signed.sha256
        for document in made
        if document.signed
    }


def test_attach_names_the_path_on_a_full_disk(examples: Examples, acme: Tenant) -> None:
    document = factories.document(
        acme.workspace, "COMPLETED", signed=factories.stored(bytes(200_000))
    )
    with file_size_limit(100_000):
        printed = examples.run("attach", str(document.id), status=1)
    [part] = (examples.folder / "attachments" / str(document.id)).iterdir()
    assert printed.endswith(f"{document.id}/{part.name}: File too large\n")


def test_attach_prints_one_clear_line_if_the_document_is_not_complete(
    examples: Examples, acme: Tenant
) -> None:
    document = factories.document(acme.workspace, "PARTIALLY_SIGNED")
    base = examples.environment["DTD_BASE_URL"]
    assert examples.run("attach", str(document.id), status=1) == (
        f"{base}/api/v1/documents/{document.id}/download?type=signed: "
        "The document is not complete: its signed file and certificate exist once everyone has "
        "finished. Use type=original for the file as uploaded.\n"
    )
    assert files(examples.folder) == {}


def test_attach_does_not_find_another_workspace_s_document(
    examples: Examples, umbrella: Tenant
) -> None:
    document = factories.document(umbrella.workspace, "COMPLETED")
    printed = examples.run("attach", str(document.id), status=1)
    assert printed.endswith(": There is no such document in this workspace.\n")


@pytest.mark.parametrize(
    "id",
    ["", ".", "..", "../me", "a/b", "a?b", "a#b", "%2e%2e%2fme", "a\n", "x y", "ü", "http://a"],
)
def test_attach_refuses_an_id_that_would_change_the_path_before_any_request(
    examples: Examples, id: str
) -> None:
    requests = Requests(examples.server)
    assert examples.run("attach", id, status=1) == "DOCUMENT_ID must be a UUID.\n"
    assert requests() == []


HOSTILE = {
    "%2E%2E%2F%2E%2E%2Fevil%00%1B%5B31m.pdf": "_.._evil__[31m.pdf",
    "%2Fetc%2Fpasswd": "_etc_passwd",
    "..": "signed.pdf",
    "%2E%2E": "signed.pdf",
    "C%3A%5Cevil.pdf": "C__evil.pdf",
}


@pytest.mark.parametrize("sent", HOSTILE)
def test_attach_saves_no_file_outside_of_the_folder(
    examples: Examples, lease: Document, sent: str
) -> None:
    named = b"filename*=UTF-8''"

    def renamed(block: bytes) -> bytes:
        before, found, after = block.partition(named)
        return before + found + sent.encode() + after[after.index(b"\r\n") :] if found else block

    front = Proxy(examples.environment["DTD_BASE_URL"], renamed)
    examples.environment["DTD_BASE_URL"] = front.url
    try:
        examples.run("attach", str(lease.id))
    finally:
        front.stop()
    assert list(files(examples.folder)) == [f"attachments/{lease.id}/{HOSTILE[sent]}"], unquote(
        sent
    )


def test_attach_refuses_a_file_that_arrives_damaged(examples: Examples, lease: Document) -> None:
    front = Proxy(
        examples.environment["DTD_BASE_URL"], lambda block: block.replace(b"%%EOF", b"%%E0F")
    )
    examples.environment["DTD_BASE_URL"] = front.url
    try:
        printed = examples.run("attach", str(lease.id), status=1)
    finally:
        front.stop()
    assert printed.endswith("/download?type=signed: The file is damaged: its digest differs.\n")
    assert examples.waits == [1, 2, 3]
    assert files(examples.folder) == {}
