"""What serves the measurements of `bench.nodes`: two nodes, nginx and PgBouncer."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench import log
from bench.client import Client
from bench.launch import on_port, started, wait
from bench.measuring import FEWEST, spent
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import Target, endless
from bench.variants import Server, Variant
from config.embedded import nginx, pgbouncer
from config.embedded.service import HOST
from config.ports import free_port

COUNTS = (1, 2)  # nodes
NODE = Variant("node", "python -m config.server --port {port}", {"TRUSTED_PROXIES": "1"})
CONNECTIONS = 8  # for each node
SHARED = ("PgBouncer", "PostgreSQL", "Redis")
PARTS = ("nginx", "nodes", *SHARED)


@dataclass(frozen=True)
class Case:
    """What some requests took: seconds, and of each part, by name, seconds of processor time."""

    requests: int
    seconds: float
    parts: dict[str, float]

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    def ms(self, *parts: str) -> float:
        """Milliseconds a request of some parts' processor time."""
        return 1000 * sum(self.parts[each] for each in parts) / self.requests


@dataclass(frozen=True)
class Site:
    """What runs: `fronts` has nginx in front of so many of the nodes."""

    stack: Stack
    nodes: list[int]  # process ids
    pooler: int
    fronts: dict[int, Server]

    def spent(self, count: int) -> list[float]:
        """Seconds of processor time of each of PARTS, when so many nodes serve."""
        nodes = sum(spent(node) for node in self.nodes[:count])
        shared = (self.pooler, self.stack.postgres, self.stack.redis)
        return [spent(self.fronts[count].process.pid), nodes, *map(spent, shared)]

    def measure(self, count: int, responses: Sequence[Target], scale: Scale) -> Case:
        """What a closed loop on so many nodes takes, after a warm-up."""
        with closing(Client(self.fronts[count].port, endless(responses))) as client:
            client.warm_up(CONNECTIONS * count, scale.seconds / 2)
            before, start = self.spent(count), time.monotonic()
            requests = client.saturate(2 * scale.seconds)
            while requests < FEWEST:
                requests += client.saturate(scale.seconds)
            took, after = time.monotonic() - start, self.spent(count)
            client.drain()
        used = (end - start for start, end in zip(before, after, strict=True))
        case = Case(requests, took, dict(zip(PARTS, used, strict=True)))
        log(f"  {count}: {case.rate:.0f}/s, {', '.join(f'{p} {case.ms(p):.2f} ms' for p in PARTS)}")
        return case


@contextlib.contextmanager
def serving(stack: Stack, database: str) -> Iterator[Site]:
    """Two nodes, an nginx in front of one of them, and another one in front of both."""
    with ExitStack() as stopping:
        folder = Path(stopping.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)  # PgBouncer is another user
        port = free_port()
        command = pgbouncer.install(folder, port, stack.url(database))
        pooler = stopping.enter_context(started(command, {}))
        environment = {
            **NODE.environment,
            "DATABASE_URL": pgbouncer.connected(stack.url(database), port),
        }
        ports = [free_port() for _ in range(max(COUNTS))]
        nodes = [
            stopping.enter_context(started(on_port(NODE.command, port), environment))
            for port in ports
        ]
        for port, node in zip(ports, nodes, strict=True):
            wait(port, node)
        fronts, store = {}, urlsplit(os.environ["S3_ENDPOINT_URL"]).netloc
        for count in COUNTS:
            home, port = folder / f"nginx-{count}", free_port()
            home.mkdir()
            command = nginx.install(home, port, ports[:count], store, http_port=free_port())
            process = stopping.enter_context(started(command, {}))
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            fronts[count] = Server(NODE, port, process, stopping.enter_context(client))
            wait(port, process)
        yield Site(stack, [node.pid for node in nodes], pooler.pid, fronts)
