"""Downloads with the library: resumed, checked, and saved as a whole or not at all."""

import errno
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dtd
import pytest
from dtd import errors

from documents.models import Document
from tests.support import factories
from tests.support.examples import Requests
from tests.support.factories import Tenant
from tests.support.proxy import HOST, Proxy
from tests.support.server import Server

CONTENT = random.Random(5).randbytes(1_000_000)  # noqa: S311 - bytes to tell parts by


@pytest.fixture
def front(server: Server) -> Iterator[Proxy]:
    """A proxy in front of the server, which tests alter."""
    proxy = Proxy(f"http://{HOST}:{server.port}")
    yield proxy
    proxy.stop()


@pytest.fixture
def client(front: Proxy, acme: Tenant) -> Iterator[dtd.Client]:
    with dtd.Client(acme.raw, front.url, patience=5) as made:
        yield made


@pytest.fixture
def lease(acme: Tenant) -> Document:
    signed = factories.stored(CONTENT)
    return factories.document(acme.workspace, "COMPLETED", signed=signed, file_name="Lease №/5.pdf")


def cut(front: Proxy, times: int) -> None:
    """This many of the next responses break off in their middle."""
    left = iter([None] * times)

    def alter(block: bytes) -> bytes:
        if CONTENT[500_000:500_020] in block and next(left, block) is None:
            raise ConnectionResetError
        return block

    front.alter = alter


def test_download_goes_on_where_it_broke_off(
    client: dtd.Client, front: Proxy, lease: Document, tmp_path: Path, server: Server
) -> None:
    requests = Requests(server)
    cut(front, 1)
    saved = client.download(str(lease.id), type="signed", to=tmp_path)
    assert saved.read_bytes() == CONTENT
    assert requests() == ["download 200", "download 206"]


def test_download_goes_on_with_what_another_process_has_left(
    client: dtd.Client, lease: Document, tmp_path: Path, server: Server
) -> None:
    requests = Requests(server)
    part = tmp_path / f".{lease.id}-signed.part"
    for left in (1, 400_000, len(CONTENT)):
        part.write_bytes(CONTENT[:left])
        saved = client.download(str(lease.id), type="signed", to=tmp_path)
        assert saved.read_bytes() == CONTENT
        assert list(tmp_path.iterdir()) == [saved]
    assert requests() == ["download 200", "download 206", "download 206"]


@pytest.mark.parametrize("left", [b"other bytes" * 9, CONTENT + b"more"])
def test_download_begins_again_if_what_was_left_is_of_another_file(
    client: dtd.Client, lease: Document, tmp_path: Path, left: bytes
) -> None:
    (tmp_path / f".{lease.id}-signed.part").write_bytes(left)
    saved = client.download(str(lease.id), type="signed", to=tmp_path)
    assert saved.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [saved]


def test_download_does_not_mix_two_files_if_one_replaces_the_other(
    client: dtd.Client, front: Proxy, lease: Document, acme: Tenant, tmp_path: Path
) -> None:
    other = CONTENT[:500_000] + bytes(500_000)
    cut(front, 1000)
    with dtd.Client(acme.raw, front.url, patience=0.1) as impatient, pytest.raises(errors.Error):
        impatient.download(str(lease.id), type="signed", to=tmp_path)
    Document.objects.filter(pk=lease.pk).update(signed=factories.stored(other))
    front.restore()
    saved = client.download(str(lease.id), type="signed", to=tmp_path)
    assert saved.read_bytes() == other


def test_download_refuses_a_file_that_arrives_damaged(
    client: dtd.Client, front: Proxy, acme: Tenant, tmp_path: Path
) -> None:
    lease = factories.document(acme.workspace, "COMPLETED")
    front.alter = lambda block: block.replace(b"%%EOF", b"%%E0F")
    with pytest.raises(errors.DamagedFile, match="its digest differs"):
        client.download(str(lease.id), to=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_download_of_what_is_not_there_leaves_nothing(
    client: dtd.Client, acme: Tenant, umbrella: Tenant, tmp_path: Path
) -> None:
    draft = factories.document(acme.workspace, "DRAFT")
    (tmp_path / f".{draft.id}-signed.part").write_bytes(b"deleted since")
    with pytest.raises(errors.DocumentNotComplete):
        client.download(str(draft.id), type="signed", to=tmp_path)
    foreign = factories.document(umbrella.workspace, "COMPLETED")
    with pytest.raises(errors.DocumentNotFound):
        client.download(str(foreign.id), to=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_download_never_overwrites_another_file_by_a_name_of_the_service(
    client: dtd.Client, lease: Document, tmp_path: Path
) -> None:
    mine, outside = tmp_path / "Lease №_5 – signed.pdf", tmp_path / "outside"
    outside.write_bytes(CONTENT)
    for make in (lambda: mine.write_text("mine"), lambda: mine.symlink_to(outside)):
        make()
        with pytest.raises(FileExistsError, match="Another file has this name"):
            client.download(str(lease.id), to=tmp_path)
        assert sorted(tmp_path.iterdir()) == [mine, outside]
        assert mine.is_symlink() or mine.read_text() == "mine"
        mine.unlink()
    mine.write_text("mine")
    assert (
        client.download(str(lease.id), to=mine).read_bytes() == CONTENT
    )  # that name was asked for


def test_download_follows_no_link_in_its_folder(
    client: dtd.Client, lease: Document, tmp_path: Path
) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("mine")
    folder.mkdir()
    part = folder / f".{lease.id}-signed.part"
    part.symlink_to(victim)
    with pytest.raises(OSError, match=r"\.part") as refused:
        client.download(str(lease.id), type="signed", to=folder)
    assert refused.value.errno == errno.ELOOP
    part.unlink()
    part.hardlink_to(victim)
    client.download(str(lease.id), type="signed", to=folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "name.pdf").symlink_to(outside)
    saved = client.download(str(lease.id), type="signed", to=folder, name="name.pdf")
    assert (saved.is_symlink(), saved.read_bytes()) == (False, CONTENT)
    assert (victim.read_text(), list(outside.iterdir())) == ("mine", [])


def test_downloads_of_one_file_at_once_do_not_disturb_each_other(
    client: dtd.Client, lease: Document, tmp_path: Path, server: Server
) -> None:
    requests = Requests(server)
    with ThreadPoolExecutor() as threads:
        for _ in range(5):
            threads.submit(client.download, str(lease.id), to=tmp_path)
    [saved] = tmp_path.iterdir()
    assert saved.read_bytes() == CONTENT
    assert requests().count("download 200") == 5


HOSTILE = {
    "%2E%2E%2F%2E%2E%2Fevil%00%1B%5B31m.pdf": "_.._evil__[31m.pdf",
    "%2Fetc%2Fpasswd": "_etc_passwd.pdf",
    "SHA256SUMS": "SHA256SUMS.pdf",
    "-rf.pdf": "rf.pdf",
    "a%E2%80%AEfdp.exe.pdf": "a_fdp.exe.pdf",
    "%C2%9B31m.pdf": "_31m.pdf",
    "%2E%2E": "document.pdf",
    "C%3A%5Cevil.pdf": "C__evil.pdf",
    "CON.pdf": "_CON.pdf",
    "lpt1.x%20%E2%80%93%20signed.pdf": "_lpt1.x – signed.pdf",
    "Nul%20%E2%80%93%20signed.pdf": "Nul – signed.pdf",
    "e%CC%81.pdf": "é.pdf",
}


@pytest.mark.parametrize("sent", HOSTILE)
def test_download_saves_no_file_outside_of_the_folder(
    client: dtd.Client, front: Proxy, acme: Tenant, tmp_path: Path, sent: str
) -> None:
    document = factories.document(acme.workspace)
    named = b"filename*=UTF-8''"

    def renamed(block: bytes) -> bytes:
        before, found, after = block.partition(named)
        return before + found + sent.encode() + after[after.index(b"\r\n") :] if found else block

    front.alter = renamed
    assert client.download(str(document.id), to=tmp_path) == tmp_path / HOSTILE[sent]
