"""Servers for the benchmark, started on free ports and stopped when they are no longer needed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import psutil

from config.embedded.service import HOST, die_with_supervisor

ROOT = Path(__file__).resolve().parent.parent
SERVER_THREADS = 384  # of this service; the default of the variable of that name
PATIENCE = 60.0  # seconds until a server has to respond, or to stop


def granian(application: str, *, workers: int, threads: int, interface: str = "wsgi") -> str:
    """The command of the production server on `{port}`."""
    return (
        f"granian --interface {interface} --log-level error --host {HOST} --port {{port}} "
        f"--workers {workers} --blocking-threads {threads} {application}"
    )


def on_port(command: str, port: int) -> list[str]:
    """A command of the virtual environment, its `{port}` filled in."""
    program, *words = command.format(port=port).split()
    return [str(Path(sys.executable).parent / program), *words]


@contextlib.contextmanager
def started(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdout: int | None = None,
    stderr: int | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with the benchmark, however that ends; a server may not respond yet."""
    process = subprocess.Popen(  # noqa: S603 - our own
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        stderr=stderr,
        preexec_fn=lambda: die_with_supervisor(signal.SIGTERM),  # noqa: PLW1509
    )
    family: list[psutil.Process] = []
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        for each in family:  # granian can end before a worker that is still starting
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Returns when the API responds on the port."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not serve")
