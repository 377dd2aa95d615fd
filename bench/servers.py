"""The servers: what is compared, and how processes are started."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from config.dev.service import HOST, die_with_parent
from config.runtime.ports import free_port

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0  # seconds that anything gets to start or to stop
WORKERS = 2  # processes, for all
GRANIAN = f"granian --log-level error --host {HOST} --port {{port}} --workers {WORKERS}"
GUNICORN = f"gunicorn --workers {WORKERS} --worker-class gthread --threads 4 --keep-alive 75 \
--log-level error --bind {HOST}:{{port}}"
# redis-py uses hiredis wherever it is importable; requirements.txt does not have it.
AS_INSTALLED = {"PYTHONPATH": str(ROOT / "bench" / "peers" / "without_hiredis")}
OURS, DRF, STARLETTE = "this service", "stock DRF", "Starlette, raw"
# What is compared, each as its own community would run it: the command that starts it on `{port}`,
# and variables. This service has the default number of threads (SERVER_THREADS).
VARIANTS = {
    OURS: (
        f"{GRANIAN} --interface wsgi --blocking-threads 384 config.wsgi:application",
        {**AS_INSTALLED, "LOG_LEVEL": "INFO"},
    ),
    DRF: (
        f"{GUNICORN} django.core.wsgi:get_wsgi_application()",
        {**AS_INSTALLED, "DJANGO_SETTINGS_MODULE": "bench.peers.drf.settings"},
    ),
    STARLETTE: (
        f"{GRANIAN} --interface asgi --blocking-threads 1 bench.peers.starlette:app",
        {},
    ),
}
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
        preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509
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


def pin(process: psutil.Process, cores: Iterable[int]) -> None:
    """Keeps all threads of a process to these cores."""
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)


@dataclass(frozen=True)
class Server:
    """A variant that runs."""

    title: str
    port: int
    process: Process  # the ancestor of all of its processes
    client: httpx.Client  # for single requests


@contextlib.contextmanager
def serving() -> Iterator[dict[str, Server]]:
    """All variants on one database, each worker kept to a core, as the units do.

    The kernel would move them about.
    """
    cores = sorted(os.sched_getaffinity(0))
    with contextlib.ExitStack() as stopping:
        servers = {}
        for title, (command, environment) in VARIANTS.items():
            port = free_port()
            log = stopping.enter_context(tempfile.TemporaryFile()).fileno()
            process = stopping.enter_context(started(on_port(command, port), environment, log))
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            servers[title] = Server(title, port, process, stopping.enter_context(client))
        for server in servers.values():
            wait(server.port, server.process)
            children = psutil.Process(server.process.pid).children(recursive=True)
            busiest = sorted(children, key=lambda each: -sum(each.cpu_times()[:2]))[:WORKERS]
            for number, worker in enumerate(busiest):
                pin(worker, [cores[number % len(cores)]])
        yield servers
