"""Servers for the benchmark, started on free ports and stopped when they are done with."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from config.embedded.service import HOST, die_with_supervisor

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds until a server has to answer


def program(name: str) -> str:
    """A command of the virtual environment."""
    return str(Path(sys.executable).parent / name)


def granian(target: str, port: int, *, workers: int, threads: int) -> list[str]:
    """The command of the production server."""
    options = {"--host": HOST, "--port": port, "--workers": workers, "--blocking-threads": threads}
    words = [str(word) for option in options.items() for word in option]
    return [program("granian"), "--interface", "wsgi", "--log-level", "error", *words, target]


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """A server that answers on the port."""
    with started(command, environment) as process:
        wait(port, process)
        yield process


@contextlib.contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], stdout: int | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that ends with the benchmark, however that ends; a server may not answer yet."""
    process = subprocess.Popen(  # noqa: S603 - our own
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        preexec_fn=lambda: die_with_supervisor(signal.SIGTERM),  # noqa: PLW1509
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Returns when the API answers on the port."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} does not serve")


@contextlib.contextmanager
def nginx(folder: Path, port: int, app: int) -> Iterator[None]:
    """nginx with deploy/nginx.conf in front of the application."""
    folder.chmod(0o755)
    (folder / "logs").mkdir()
    configuration = shutil.copy(ROOT / "deploy" / "nginx.conf", folder)
    store = urlsplit(os.environ["S3_ENDPOINT_URL"]).netloc
    (folder / "listen.conf").write_text(f"listen {HOST}:{port};\n")
    (folder / "upstreams.conf").write_text(
        f"upstream app {{ server {HOST}:{app}; keepalive 8; }}\n"
        f"upstream store {{ server {store}; keepalive 8; }}\n"
    )
    options = ["-p", f"{folder}/", "-c", str(configuration), "-g", "daemon off;"]
    command = [shutil.which("nginx") or "/usr/sbin/nginx", *options]
    with running(command, port, {}):
        yield
