"""The server's process: how it ends, and that it says so if its threads hang."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from config import systemd
from config.connections import fetch
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.server import PATIENCE, Server, eventually, running
from tests.support.slow_clients import download_request


def test_sigterm_lets_a_download_end(transactional_db: None, acme: Tenant, tmp_path: Path) -> None:
    size = 8_000_000
    document = factories.document(acme.workspace, content=bytes(size))
    with running(Server(tmp_path)) as server, server.connect() as connection:
        connection.sendall(download_request(document.id, acme.raw))
        received = len(connection.recv(1000))
        server.terminate()
        time.sleep(1)
        while block := connection.recv(1 << 20):
            received += len(block)
        assert received > size
        assert server.wait_for_end(10) == 0


def test_threads_that_end_after_a_burst_close_their_connections(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    def connections() -> tuple[int, int]:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'burst'"
        return fetch(sql, [])[0][0], server.counter.connections

    variables = {"GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT": "5", "PGAPPNAME": "burst"}
    with running(Server(tmp_path, **variables)) as server:
        with ThreadPoolExecutor(20) as threads:
            responses = threads.map(lambda _: server.get("/me", acme.raw), range(40))
            assert {each.status for each in responses} == {200}
        assert min(connections()) > 4  # of eight threads
        assert eventually(lambda: max(connections()) <= 2), connections()


def test_instance_whose_threads_all_wait_for_a_frozen_database_asks_to_be_replaced(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    assert systemd.HANGS_SECONDS + systemd.SECONDS < 10
    variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "GRANIAN_BLOCKING_THREADS": "2"}
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified,
        ThreadPoolExecutor(2) as threads,
    ):
        notified.bind(variables["NOTIFY_SOCKET"])
        notified.settimeout(PATIENCE)
        with running(Server(tmp_path, **variables)) as server:
            assert {
                each.status for each in threads.map(server.get, ["/me"] * 8, [acme.raw] * 8)
            } == {200}
            server.database.silence()
            started = time.monotonic()
            hanging = [threads.submit(server.get, "/me", acme.raw) for _ in range(2)]
            while (message := notified.recv(100)) != b"WATCHDOG=trigger":
                assert message == b"READY=1\nWATCHDOG=1"
                assert time.monotonic() - started < PATIENCE
            assert time.monotonic() - started > systemd.HANGS_SECONDS
            assert not any(each.done() for each in hanging)
            server.database.restore()
            assert {each.result().status for each in hanging} == {200}
            assert eventually(lambda: notified.recv(100) == b"READY=1\nWATCHDOG=1")
