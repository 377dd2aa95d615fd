"""What is compared: this service and its peers, each as its own community would run it."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.launch import granian, program, started, wait
from bench.stack import Stack
from config.embedded.service import HOST, free_port

WORKERS = 2  # processes, for all


@dataclass(frozen=True)
class Variant:
    """One way to serve the API.

    Attributes:
        command: how it is started on a port.
    """

    name: str
    title: str
    command: Callable[[int], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)


def _gunicorn(port: int) -> list[str]:
    options = ["--workers", str(WORKERS), "--worker-class", "gthread", "--threads", "4"]
    bind = ["--bind", f"{HOST}:{port}", "--log-level", "error"]
    return [program("gunicorn"), *options, *bind, "bench.peers.drf.wsgi:application"]


def _uvicorn(port: int) -> list[str]:
    options = ["--workers", str(WORKERS), "--loop", "uvloop", "--http", "httptools"]
    bind = ["--host", HOST, "--port", str(port), "--log-level", "error", "--no-access-log"]
    return [program("uvicorn"), *options, *bind, "bench.peers.fastapi.app:app"]


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            "ours",
            "this service",
            lambda port: granian("config.wsgi:application", port, workers=WORKERS, threads=2),
        ),
        Variant("drf", "stock DRF", _gunicorn),
        Variant("fastapi", "FastAPI", _uvicorn),
        Variant(
            "floor",
            "floor",
            lambda port: granian("bench.peers.floor:application", port, workers=WORKERS, threads=2),
        ),
    )
}


@dataclass(frozen=True)
class Server:
    """A variant that runs.

    Attributes:
        process: above all of its processes.
    """

    variant: Variant
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def root(self) -> int:
        """The process id."""
        return self.process.pid


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
            servers[variant.name] = Server(variant, port, process)
        for server in servers.values():
            wait(server.port, server.process)
        yield servers
