"""An instance's processes: what ends them, what replaces them, and what ends with them."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.processes import worker_of
from tests.support.proxy import HOST
from tests.support.server import ROOT, Server, running
from tests.support.slow_clients import download_request

GRACE = 6  # seconds


@pytest.fixture
def instance(transactional_db: None, tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, which it may end."""
    server = Server(tmp_path, GRACE_SECONDS=str(GRACE))
    try:
        yield server
    finally:
        server.kill()
        server.stop()


def worker(instance: Server) -> psutil.Process:
    """The process that serves."""
    found = worker_of(instance.pid)
    assert found is not None
    return found


def test_killed_workers_are_replaced_however_soon(instance: Server, acme: Tenant) -> None:
    for _ in range(3):
        instance.wait()
        killed = worker(instance)
        killed.kill()
        killed.wait()
    instance.wait()
    assert instance.get("/me", acme.raw).status == 200
    assert worker(instance).pid != killed.pid


def test_instance_whose_workers_cannot_start_ends(instance: Server) -> None:
    instance.wait()
    while instance.wait_for_end(0.01) is None:
        with contextlib.suppress(psutil.NoSuchProcess):
            if found := worker_of(instance.pid):
                found.kill()
    assert "Worker crash loop detected" in instance.log()


def test_frozen_worker_is_replaced_within_30_seconds_but_not_that_of_a_frozen_instance(
    instance: Server, acme: Tenant, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running(Server(tmp_path_factory.mktemp("whole"))) as whole:
        instance.wait()
        stopped = [psutil.Process(whole.pid), worker(whole)]
        frozen = worker(instance)
        started = time.monotonic()
        for process in (*stopped, frozen):
            process.suspend()
        frozen.wait(30)
        instance.wait()
        assert time.monotonic() - started < 30
        assert instance.get("/me", acme.raw).status == 200
        assert "The worker has not responded" in instance.log()

        time.sleep(max(0, started + 17 - time.monotonic()))
        for process in stopped:
            process.resume()
        time.sleep(2)
        assert whole.get("/me", acme.raw).status == 200
        assert worker(whole).pid == stopped[1].pid


@pytest.mark.parametrize("after", [0.05, 0.6, 1.2, 2.0, 3.0])
def test_sigterm_ends_an_instance_at_any_moment_of_its_start(
    instance: Server, after: float
) -> None:
    time.sleep(after)
    family = [psutil.Process(instance.pid)]
    family += family[0].children(recursive=True)
    instance.terminate()
    _, alive = psutil.wait_procs(family, GRACE + 3)
    assert alive == []
    assert not instance.listens()


def test_killed_main_process_leaves_nothing_that_serves(instance: Server) -> None:
    instance.wait()
    orphan = worker(instance)
    psutil.Process(instance.pid).kill()
    orphan.wait(5)
    assert not instance.listens()


def test_head_and_body_of_a_short_response_arrive_together(instance: Server, acme: Tenant) -> None:
    """Otherwise a worker that is killed between the two leaves a head without its body."""
    instance.wait()
    with instance.connect() as connection:
        for _ in range(2000):
            connection.sendall(
                f"GET /api/v1/me HTTP/1.1\r\nHost: {HOST}\r\n"
                f"Authorization: Bearer {acme.raw}\r\n\r\n".encode()
            )
            _, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
            assert json.loads(body)  # of a 200, then of a 429


def test_sigterm_lets_a_download_end(instance: Server, acme: Tenant) -> None:
    instance.wait()
    size = 8_000_000
    document = factories.document(acme.workspace, content=bytes(size))
    with instance.connect() as connection:
        connection.sendall(download_request(document.id, acme.raw))
        received = len(connection.recv(1000))
        instance.terminate()
        time.sleep(1)
        while block := connection.recv(1 << 20):
            received += len(block)
    assert received > size
    assert instance.wait_for_end(GRACE) == 0


def test_start_tells_which_variables_are_called_otherwise_now(
    transactional_db: None, tmp_path: Path
) -> None:
    former = {"NGINX_HANDOFF": "yes", "GRANIAN_BLOCKING_THREADS": "2", "SPOOL_DIR": "/var/spool"}
    with running(Server(tmp_path, **former, SERVER_THREADS="48")) as server:
        lines = [line.rpartition("] ")[2] for line in server.log().splitlines()]
        told = [line for line in lines if line.split()[0] in former]
        assert told == [
            "NGINX_HANDOFF is now X_ACCEL_DOWNLOADS.",
            "SPOOL_DIR is not read any more.",
        ]


def test_port_that_is_in_use_is_one_line(instance: Server) -> None:
    instance.wait()
    done = subprocess.run(
        [sys.executable, "-m", "config.server", "--port", str(instance.port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    assert done.stderr == f"Port {instance.port} cannot be used: Address already in use.\n"


def test_second_signal_does_not_disturb_the_end(instance: Server) -> None:
    instance.wait()
    instance.terminate()
    instance.terminate(signal.SIGINT)
    assert instance.wait_for_end(GRACE + 2) == 0
