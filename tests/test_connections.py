"""The connections to the database that a server holds."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.factories import Tenant
from tests.server import Server, eventually

THREADS = 6


def test_connections_close_when_their_thread_ends(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    server = Server(tmp_path, threads=THREADS, GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT="5")
    try:
        server.wait()

        def ask(_: int) -> int:
            return server.get("/me", acme.raw).status

        def several_at_once() -> bool:
            with ThreadPoolExecutor(THREADS) as threads:
                assert set(threads.map(ask, range(THREADS))) == {200}
            return server.database.connections >= 3

        for _ in range(2):
            assert eventually(several_at_once)
            assert eventually(lambda: server.database.connections <= 1)
    finally:
        server.stop()
