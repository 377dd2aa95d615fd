"""Servers for the benchmarks, started on free ports and stopped when they are no longer needed."""

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
PATIENCE = 60.0  # seconds until a server has to respond, or to stop

Process = subprocess.Popen[bytes]


def on_port(command: str, port: int) -> list[str]:
    """A command of the virtual environment, its `{port}` filled in."""
    program, *words = command.format(port=port).split()
    return [str(Path(sys.executable).parent / program), *words]


@contextlib.contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], output: int | None = None
) -> Iterator[Process]:
    """A process that ends with the benchmark, however that ends; a server may not respond yet.

    Args:
        output: the descriptor of its log.
    """
    process = subprocess.Popen(  # noqa: S603 - our own
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=output,
        stderr=output,
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


def wait(port: int, process: Process) -> None:
    """Returns when the API responds on the port.

    Raises:
        RuntimeError: it does not.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not serve")
