"""What is compared: this service and its peers, each as its own community would run it."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import httpx
import psutil

from bench.processes import ROOT, Process, on_port, started, wait
from config.embedded.service import HOST
from config.ports import free_port

WORKERS = 2  # processes, for all
GRANIAN = f"granian --log-level error --host {HOST} --port {{port}} --workers {WORKERS}"
GUNICORN = f"gunicorn --workers {WORKERS} --worker-class gthread --threads 4 --keep-alive 75 \
--log-level error --bind {HOST}:{{port}}"
# redis-py uses hiredis wherever it is importable; requirements.txt does not have it.
AS_INSTALLED = {"PYTHONPATH": str(ROOT / "bench" / "peers" / "without_hiredis")}


@dataclass(frozen=True)
class Variant:
    """An alternative way to serve the API; `command` starts it on `{port}`."""

    title: str
    command: str
    environment: Mapping[str, str] = field(default_factory=dict)


VARIANTS = {
    "ours": Variant(
        "this service",
        # As many threads as SERVER_THREADS has by default.
        f"{GRANIAN} --interface wsgi --blocking-threads 384 config.wsgi:application",
        AS_INSTALLED,
    ),
    "drf": Variant(
        "stock DRF",
        f"{GUNICORN} django.core.wsgi:get_wsgi_application()",
        {**AS_INSTALLED, "DJANGO_SETTINGS_MODULE": "bench.peers.drf.settings"},
    ),
    "starlette": Variant(
        "Starlette, raw",
        f"{GRANIAN} --interface asgi --blocking-threads 1 bench.peers.starlette:app",
    ),
}


@dataclass(frozen=True)
class Server:
    """A variant that runs."""

    variant: Variant
    port: int
    process: Process  # the ancestor of all of its processes
    client: httpx.Client  # for single requests


@contextlib.contextmanager
def serving(variants: Mapping[str, Variant]) -> Iterator[dict[str, Server]]:
    """All of the variants on one database."""
    with contextlib.ExitStack() as stopping:
        servers = {}
        for name, variant in variants.items():
            port = free_port()
            command = on_port(variant.command, port)
            process = stopping.enter_context(started(command, variant.environment))
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            stopping.enter_context(client)
            servers[name] = Server(variant, port, process, client)
        for server in servers.values():
            wait(server.port, server.process)
            pin(server.process.pid)
        yield servers


def pin(server: int) -> None:
    """Keeps each worker to a core, as the units do. The kernel would move them about."""
    children = psutil.Process(server).children(recursive=True)
    busiest = sorted(children, key=lambda each: -sum(each.cpu_times()[:2]))[:WORKERS]
    cores = sorted(os.sched_getaffinity(0))
    for number, worker in enumerate(busiest):
        for thread in worker.threads():
            os.sched_setaffinity(thread.id, {cores[number % len(cores)]})
