"""No completion of a download is lost: it waits in a file while the database fails."""

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from audit import completions
from audit.models import AuditEntry
from config.database import fetch
from documents.download import spool
from tests.documents.test_download_completions import end_entries, started
from tests.support import factories
from tests.support.database import locked
from tests.support.factories import Tenant
from tests.support.server import Server, eventually, running
from tests.support.slow_clients import download_request

SIZE = 8_000_000  # bytes: more than the buffers between server and client
COMPLETION = completions.Completion(
    at=datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC), bytes_sent=7, length=7
)


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """The folder that this process and the test's servers use."""
    settings.SPOOL_DIR = str(tmp_path)
    return tmp_path


def waiting(folder: Path) -> list[str]:
    """The requests whose completions wait."""
    return sorted(file.stem for file in folder.glob("*.json"))


@contextlib.contextmanager
def download(server: Server, tenant: Tenant) -> Iterator[socket.socket]:
    """A client that has the first bytes of a file, whose last ones the server cannot send yet."""
    document = factories.document(tenant.workspace, content=bytes(SIZE))
    with server.connect() as client:
        client.sendall(download_request(document.id, tenant.raw))
        assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        yield client


def start_of_download() -> AuditEntry:
    return AuditEntry.objects.get(action="document.downloaded")


def read(client: socket.socket) -> None:
    """Reads the rest of the file, at least."""
    left = SIZE - 1000
    while left > 0 and (block := client.recv(1 << 20)):
        left -= len(block)
    assert left <= 0


def warm_up(server: Server, tenant: Tenant) -> None:
    """Downloads something, so that the connection that records completions is open."""
    document = factories.document(tenant.workspace)
    server.get(f"/documents/{document.id}/download", tenant.raw)
    assert eventually(end_entries)


def test_completion_waits_while_the_database_refuses_and_is_recorded_once(
    server: Server, acme: Tenant
) -> None:
    with download(server, acme) as client:
        server.database.refuse()
        read(client)
    assert eventually(lambda: waiting(server.spool))
    before = timezone.now()
    server.restore()
    assert eventually(lambda: not waiting(server.spool))
    start = start_of_download()
    assert end_entries() == [(start.request_id, "whole file", SIZE)]
    ended = AuditEntry.objects.get(action="document.download_ended")
    assert ended.occurred_at is not None
    assert start.created_at < ended.occurred_at < before < ended.created_at


def test_completion_of_one_that_is_broken_off_waits_too(server: Server, acme: Tenant) -> None:
    with download(server, acme):
        server.database.refuse()
    assert eventually(lambda: waiting(server.spool))
    server.restore()
    assert eventually(lambda: not waiting(server.spool))
    [(request_id, detail, sent)] = end_entries()
    assert request_id == start_of_download().request_id
    assert detail == f"broken off at {sent:,} of 8,000,000 bytes"


def test_completion_that_reaches_the_database_late_is_recorded_once(
    server: Server, acme: Tenant
) -> None:
    """What the server sent to a silent database arrives when it has been given up."""
    warm_up(server, acme)
    before = end_entries()
    with download(server, acme) as client:
        server.database.silence()
        read(client)
    assert eventually(lambda: waiting(server.spool))
    server.restore()
    assert eventually(lambda: not waiting(server.spool))
    assert len(end_entries()) == len(before) + 1


def test_completion_that_is_executed_after_it_was_recorded_from_its_file_is_recorded_once(
    transactional_db: None,
) -> None:
    [id] = started(1)
    start = start_of_download()

    def late() -> None:
        try:
            completions.download_ended(start, COMPLETION)
        finally:
            connection.close()  # this thread's

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            completions.downloads_ended({id: COMPLETION})
            arrived = pool.submit(late)
            waits = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            assert eventually(lambda: fetch(waits, []))
        arrived.result()
    completions.download_ended(start, COMPLETION)
    assert end_entries() == [(id, "whole file", 7)]


def test_completion_is_recorded_once_if_its_acknowledgement_is_lost(
    server: Server, acme: Tenant
) -> None:
    warm_up(server, acme)
    before = end_entries()

    def cut(block: bytes) -> bytes:
        raise ConnectionResetError

    with download(server, acme) as client:
        server.database.alter = cut
        read(client)
    assert eventually(lambda: waiting(server.spool))
    assert len(end_entries()) == len(before) + 1
    server.restore()
    assert eventually(lambda: not waiting(server.spool))
    assert len(end_entries()) == len(before) + 1


def test_completion_waits_while_the_audit_log_is_locked(server: Server, acme: Tenant) -> None:
    with download(server, acme) as client, locked("audit_auditentry"):
        read(client)
        assert eventually(lambda: waiting(server.spool))
    assert eventually(lambda: not waiting(server.spool))
    assert [detail for _, detail, _ in end_entries()] == ["whole file"]


@pytest.mark.slow
def test_completion_of_a_server_that_ends_without_a_database_is_recorded_by_the_next(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    (tmp_path / "next").mkdir()
    with running(Server(tmp_path, GRACE_SECONDS="5")) as server:
        with download(server, acme):
            server.database.refuse()
            server.terminate()
            assert server.wait_for_end(10) is not None
        request_id = start_of_download().request_id
        assert waiting(server.spool) == [request_id]
        with running(Server(tmp_path / "next", SPOOL_DIR=str(server.spool))):
            assert eventually(lambda: not waiting(server.spool))
    [(ended, detail, sent)] = end_entries()
    assert ended == request_id
    assert detail == f"broken off at {sent:,} of 8,000,000 bytes"


@pytest.mark.slow
def test_completions_that_two_processes_share_are_recorded_once(
    transactional_db: None, folder: Path
) -> None:
    ids = started(300)
    for id in ids:
        assert spool.add(id, COMPLETION)
    with contextlib.ExitStack() as stack:
        servers = []
        for name in ("first", "second"):
            (folder / name).mkdir()
            servers.append(Server(folder / name, SPOOL_DIR=str(folder)))
            stack.callback(servers[-1].stop)
        assert eventually(lambda: not waiting(folder))
        assert all("refused" not in server.log() for server in servers)
    assert sorted(id for id, _, _ in end_entries()) == sorted(ids)
    assert list(folder.glob("*.refused")) == []


def test_completion_is_recorded_once_if_its_file_stays(db: None, folder: Path) -> None:
    """A process may be killed after it has recorded it and before it has deleted the file."""
    [id] = started(1)
    spool.add(id, COMPLETION)
    assert completions.downloads_ended({id: COMPLETION}) == (1, 0)
    assert spool.record_waiting() == 0
    assert waiting(folder) == []
    assert end_entries() == [(id, "whole file", 7)]


def test_completion_that_waited_happened_between_the_start_and_now(db: None, folder: Path) -> None:
    ids = started(2)
    times = [datetime(2026, 2, 3, tzinfo=UTC), timezone.now() + timedelta(days=1)]
    for id, at in zip(ids, times, strict=True):
        spool.add(id, completions.Completion(at=at, bytes_sent=1, length=50_000))
    assert spool.record_waiting() == 0
    for entry in AuditEntry.objects.filter(action="document.download_ended"):
        start = AuditEntry.objects.get(action="document.downloaded", request_id=entry.request_id)
        assert entry.occurred_at is not None
        assert start.created_at <= entry.occurred_at <= timezone.now()
        assert entry.detail == "broken off at 1 of 50,000 bytes"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0\xff",
        b"null",
        b"{}",
        b'{"at":"2026-02-03T04:05:06Z","bytes_sent":1,"length":1',
        b'{"at":"2026-02-03T04:05:06","bytes_sent":1,"length":1}',
        b'{"at":"2026-02-03T04:05:06Z","bytes_sent":-1,"length":1}',
        b'{"at":"2026-02-03T04:05:06Z","bytes_sent":1,"length":1e30}',
    ],
)
def test_file_that_is_no_completion_is_set_aside_and_the_others_are_recorded(
    db: None, folder: Path, caplog: pytest.LogCaptureFixture, text: bytes
) -> None:
    bad, good = sorted(started(2))
    (folder / f"{bad}.json").write_bytes(text)
    spool.add(good, COMPLETION)
    assert spool.record_waiting() == 0
    assert end_entries() == [(good, "whole file", 7)]
    assert [file.name for file in folder.iterdir()] == [f"{bad}.refused"]
    [error] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert f"{bad}.refused" in error.getMessage()
    assert spool.record_waiting() == 0


@pytest.mark.parametrize("name", ["nothing", "0123456789abcdef" * 2])
def test_completion_of_no_download_is_set_aside(db: None, folder: Path, name: str) -> None:
    spool.add(name, COMPLETION)
    assert spool.record_waiting() == 0
    assert [file.name for file in folder.iterdir()] == [f"{name}.refused"]
    assert end_entries() == []


@pytest.mark.slow
def test_folder_that_cannot_be_used_is_logged_and_the_server_serves(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with running(Server(tmp_path, SPOOL_DIR=str(tmp_path / "file"))) as server:
        assert "Completions of downloads are lost while the database fails" in server.log()
        with download(server, acme) as client:
            server.database.refuse()
            read(client)
        assert eventually(lambda: "cannot be stored in SPOOL_DIR" in server.log())
        server.restore()
        assert server.get("/me", acme.raw).status == 200
