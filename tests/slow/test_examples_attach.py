"""examples/attach.py: downloads a signed file, given an event's id, or prints one clear line."""

import hashlib
from pathlib import Path

import pytest

from documents.models import Document
from tests.support import factories
from tests.support.examples import Examples, Requests, file_size_limit
from tests.support.factories import Tenant


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
    assert examples.run("attach", str(document.id), status=1) == (
        "The document is not complete: its signed file and certificate exist once everyone has "
        "finished. Use type=original for the file as uploaded.\n"
    )
    assert files(examples.folder) == {}


def test_attach_does_not_find_another_workspace_s_document(
    examples: Examples, umbrella: Tenant
) -> None:
    document = factories.document(umbrella.workspace, "COMPLETED")
    printed = examples.run("attach", str(document.id), status=1)
    assert printed == "There is no such document in this workspace.\n"


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
