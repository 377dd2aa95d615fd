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

from config.embedded.service import HOST, die_with_keeper

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds until a server has to respond


def program(name: str, *positional: str, **options: object) -> list[str]:
    """A command of the virtual environment; `log_level="error"` becomes `--log-level error`."""
    words = [
        word
        for option, value in options.items()
        for word in (f"--{option.replace('_', '-')}", str(value))
    ]
    return [str(Path(sys.executable).parent / name), *words, *positional]


def granian(target: str, port: int, *, workers: int, threads: int) -> list[str]:
    """The command of the production server."""
    options = {"interface": "wsgi", "log_level": "error", "workers": workers}
    return program("granian", target, host=HOST, port=port, blocking_threads=threads, **options)


@contextlib.contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], stdout: int | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with the benchmark, however that ends; a server may not respond yet."""
    process = subprocess.Popen(  # noqa: S603 - our own
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        preexec_fn=lambda: die_with_keeper(signal.SIGTERM),  # noqa: PLW1509
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Returns when the API responds on the port."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not serve")
