"""An object whose bytes have changed in object storage is never sent as the whole file."""

import hashlib
import io
import random
from http.client import IncompleteRead

import pytest

from audit.models import AuditEntry
from documents import storage, storage_reading
from documents.download.integrity import CheckedChunks, DamagedObject
from documents.models import Document
from documents.storage_reading import CHUNK_SIZE
from tests import factories
from tests.client import Response
from tests.factories import Tenant
from tests.server import Server, eventually
from tests.test_metrics import value

SIZES = [1, 1000, CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE]


def content(size: int) -> bytes:
    return random.Random(5).randbytes(size)  # noqa: S311 - bytes to compare


def damage(document: Document) -> str:
    """Changes the last byte of the original in object storage; returns its new digest."""
    good = content(document.original.size)
    bad = good[:-1] + bytes([good[-1] ^ 1])
    storage.save(io.BytesIO(bad), document.original.object_key)
    return hashlib.sha256(bad).hexdigest()


def path_of(document: Document) -> str:
    return f"/documents/{document.id}/download"


def ended() -> AuditEntry:
    """The entry of the only download that ended."""
    found = AuditEntry.objects.filter(action="document.download_ended")
    assert eventually(found.exists)
    return found.get()


@pytest.mark.parametrize("size", SIZES)
def test_download_of_a_damaged_object_is_broken_off_before_the_last_chunk(
    server: Server, acme: Tenant, size: int
) -> None:
    document = factories.document(acme.workspace, content=content(size))
    found = damage(document)
    count = value(server, "documents_downloads_ended_total", completion="damaged")
    with pytest.raises(IncompleteRead) as broken_off:
        server.get(path_of(document), acme.raw)
    sent = (size - 1) // CHUNK_SIZE * CHUNK_SIZE
    assert len(broken_off.value.partial) <= sent
    entry = ended()
    assert entry.bytes_sent == sent
    assert entry.detail == (
        "damaged: its SHA-256 is not that of the stored file; "
        f"broken off at {sent:,} of {size:,} bytes"
    )
    assert value(server, "documents_downloads_ended_total", completion="damaged") == count + 1
    response = Response(200, {"request-id": entry.request_id}, b"")
    [line] = [line for line in server.log_of(response).splitlines() if " is damaged: " in line]
    assert " ERROR " in line
    for named in (document.original.object_key, found, document.original.sha256):
        assert named in line


@pytest.mark.parametrize("size", SIZES)
def test_download_of_an_object_as_it_was_stored_is_the_whole_file(
    server: Server, acme: Tenant, size: int
) -> None:
    document = factories.document(acme.workspace, content=content(size))
    response = server.get(path_of(document), acme.raw)
    assert (response.status, response.body) == (200, content(size))
    assert (ended().detail, ended().bytes_sent) == ("whole file", size)


def test_object_of_zero_bytes_is_checked_too(db: None) -> None:
    empty = factories.stored(b"")
    opened = storage_reading.open_object(empty.object_key, 0)
    assert list(CheckedChunks(opened, empty.sha256)) == []
    with pytest.raises(DamagedObject):
        next(CheckedChunks(opened, "0" * 64))


def test_download_of_a_part_of_a_damaged_object_is_not_checked(
    server: Server, acme: Tenant
) -> None:
    document = factories.document(acme.workspace, content=content(50_000))
    damage(document)
    response = server.get(path_of(document), acme.raw, range="bytes=0-99")
    assert (response.status, response.body) == (206, content(50_000)[:100])
    assert ended().detail == "part: 100 of 50,000 bytes"


def test_download_of_a_part_that_is_the_whole_file_is_checked(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace, content=content(50_000))
    damage(document)
    with pytest.raises(IncompleteRead):
        server.get(path_of(document), acme.raw, range="bytes=0-")
    assert ended().detail.startswith("damaged: ")
