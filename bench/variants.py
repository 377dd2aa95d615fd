"""What is compared: this service and its peers, each as its own community would run it."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import httpx

from bench.launch import granian, program, started, wait
from bench.stack import Stack
from config.embedded.service import HOST, free_port

WORKERS = 2  # processes, for all


@dataclass(frozen=True)
class Variant:
    """An alternative way to serve the API.

    Attributes:
        command: starts it on a port.
    """

    name: str
    title: str
    command: Callable[[int], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)


def _granian(application: str, threads: int = 2) -> Callable[[int], list[str]]:
    return lambda port: granian(application, port, workers=WORKERS, threads=threads)


def _gunicorn(application: str) -> Callable[[int], list[str]]:
    options = {"workers": WORKERS, "worker_class": "gthread", "threads": 4, "keep_alive": 75}
    return lambda port: program("gunicorn", application, bind=f"{HOST}:{port}", **options)


def _uvicorn(application: str) -> Callable[[int], list[str]]:
    options = {"workers": WORKERS, "loop": "uvloop", "http": "httptools", "log_level": "error"}
    words = (application, "--no-access-log", "--timeout-keep-alive=75")
    return lambda port: program("uvicorn", *words, host=HOST, port=port, **options)


APPLICATION = "config.wsgi:application"
DRF = {"DJANGO_SETTINGS_MODULE": "bench.peers.drf.settings"}
VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("ours", "this service", _granian(APPLICATION)),
        Variant("drf", "stock DRF", _gunicorn("django.core.wsgi:get_wsgi_application()"), DRF),
        Variant("fastapi", "FastAPI", _uvicorn("bench.peers.fastapi.app:app")),
        Variant("floor", "floor", _granian("bench.peers.floor:application")),
    )
}
# This service under other servers and with other numbers of threads.
SERVERS = [
    Variant(title, title, command)
    for title, command in {
        "granian, 1 thread a process": _granian(APPLICATION, 1),
        "granian, 2 threads a process": _granian(APPLICATION, 2),
        "granian, 4 threads a process": _granian(APPLICATION, 4),
        "granian, 8 threads a process": _granian(APPLICATION, 8),
        "gunicorn, 4 threads a process": _gunicorn(APPLICATION),
    }.items()
]


@dataclass(frozen=True)
class Server:
    """A variant that runs.

    Attributes:
        process: the ancestor of all of its processes.
        client: for single requests.
    """

    variant: Variant
    port: int
    process: "subprocess.Popen[bytes]"
    client: httpx.Client


@contextlib.contextmanager
def serving(
    stack: Stack, database: str, variants: Sequence[Variant]
) -> Iterator[dict[str, Server]]:
    """All of the variants, by name, on one database."""
    with contextlib.ExitStack() as stopping:
        servers = {}
        for variant in variants:
            environment = {**variant.environment, "DATABASE_URL": stack.url(database)}
            port = free_port()
            process = stopping.enter_context(started(variant.command(port), environment))
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            stopping.enter_context(client)
            servers[variant.name] = Server(variant, port, process, client)
        for server in servers.values():
            wait(server.port, server.process)
        yield servers
