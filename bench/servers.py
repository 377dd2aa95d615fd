"""The servers: what is compared, and how processes are started."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from bench.loading import ROOT
from config.dev.service import HOST, die_with_parent
from config.runtime.ports import free_port

PATIENCE = 60.0  # seconds that anything gets to start or to stop
CORES = sorted(os.sched_getaffinity(0))
WORKERS = len(CORES)  # processes, for all


def of_the_unit(pattern: str, otherwise: int) -> int:
    """A number in the unit of the API, as operators install it."""
    for file in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        text = file.read_text()
        if "config.api_settings" in text and (found := re.search(pattern, text)):
            return int(found[1])
    return otherwise


THREADS = of_the_unit(r"--blocking-threads[ =](\d+)", 4)
GRANIAN = f"granian --log-level warning --host {HOST} --port {{port}} --workers"
WSGI = "--interface wsgi --http 1 --no-ws --respawn-failed-workers --workers-kill-timeout 30 \
--blocking-threads {threads} config.wsgi:application"
API = {"DJANGO_SETTINGS_MODULE": "config.api_settings", "LOG_LEVEL": "INFO", "LOG_FORMAT": "json"}
GUNICORN = f"gunicorn --workers {WORKERS} --worker-class gthread --threads 4 --keep-alive 75 \
--log-level error --bind {HOST}:{{port}}"
# redis-py uses hiredis wherever it is importable; requirements.txt does not have it.
AS_INSTALLED = {"PYTHONPATH": str(ROOT / "bench" / "peers" / "without_hiredis")}
OURS, FORMER, DRF, STARLETTE = "this service", "former release", "stock DRF", "raw Starlette"
Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Variant:
    """What is compared: the command that starts it on `{port}`, in a folder, with variables."""

    command: str
    environment: Mapping[str, str]
    folder: Path = ROOT


# Each as its own community would run it; only this service writes a log line for each request.
VARIANTS = {
    OURS: Variant(f"{GRANIAN} {WORKERS} {WSGI.format(threads=THREADS)}", {**AS_INSTALLED, **API}),
    DRF: Variant(
        f"{GUNICORN} django.core.wsgi:get_wsgi_application()",
        {**AS_INSTALLED, "DJANGO_SETTINGS_MODULE": "bench.peers.drf.settings"},
    ),
    STARLETTE: Variant(
        f"{GRANIAN} {WORKERS} --interface asgi --blocking-threads 1 bench.peers.starlette:app", {}
    ),
}


def former(folder: Path, command: str) -> Variant:
    """Another checkout of this service; its static files are collected.

    Args:
        command: how it starts on `{port}`; found out if it is empty. A release that had a server of
            its own is started without it, by granian with its number of threads, since that server
            has one worker for each port and costs nothing a request.
    """
    environment = {**AS_INSTALLED, **API}
    had_server = (folder / "config" / "server").is_dir()
    if had_server:
        static = {"STATIC_ROOT": str(folder / "var" / "static")}
        environment |= {"DJANGO_SETTINGS_MODULE": "config.settings", **static}
    collect = [sys.executable, "-m", "django", "collectstatic", "--no-input", "--verbosity", "0"]
    subprocess.run(collect, cwd=folder, env={**os.environ, **environment}, check=True)  # noqa: S603
    threads = 384 if had_server else THREADS
    command = command or f"{GRANIAN} {WORKERS} {WSGI.format(threads=threads)}"
    return Variant(command, environment, folder)


def on_port(command: str, port: int) -> list[str]:
    """A command of the virtual environment, its `{port}` filled in."""
    program, *words = command.format(port=port).split()
    return [str(Path(sys.executable).parent / program), *words]


@contextlib.contextmanager
def started(
    command: Sequence[str], environment: Mapping[str, str], log: Path, folder: Path = ROOT
) -> Iterator[Process]:
    """A process that ends with the benchmark, however that ends; a server may not respond yet."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509
        )
    try:
        yield process
    finally:
        kill_all(process, politely=True)


def kill_all(process: Process, *, politely: bool = False) -> None:
    """Ends a process, politely with SIGTERM and some patience, and its children with it."""
    family: list[psutil.Process] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(process.pid).children(recursive=True)
    if politely:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
    process.kill()
    for each in family:  # granian can end before a worker that is still starting
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def wait(port: int, process: Process | None = None) -> None:
    """Returns when the API responds on the port.

    Raises:
        RuntimeError: it does not.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing serves on port {port}")


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
def serving(variants: Mapping[str, Variant], folder: Path) -> Iterator[dict[str, Server]]:
    """All variants on one database, each worker kept to a core, as the units do.

    Args:
        folder: of their logs.
    """
    with contextlib.ExitStack() as stopping:
        servers = {}
        for title, each in variants.items():
            port = free_port()
            log = folder / f"{title.replace(' ', '-')}.log"
            log.unlink(missing_ok=True)
            process = stopping.enter_context(
                started(on_port(each.command, port), each.environment, log, each.folder)
            )
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            servers[title] = Server(title, port, process, stopping.enter_context(client))
        for server in servers.values():
            wait(server.port, server.process)
            children = psutil.Process(server.process.pid).children(recursive=True)
            busiest = sorted(children, key=lambda each: -sum(each.cpu_times()[:2]))[:WORKERS]
            for worker, core in zip(busiest, CORES, strict=False):
                pin(worker, [core])
        yield servers
