"""One node and two: what a second machine adds, and what the machines share.

A node is an instance of the service in production's server. nginx balances over the nodes; they
share PostgreSQL, through PgBouncer, and Redis. Here everything shares one machine, so that a
second node cannot double the requests a second of the whole. Two things are measured instead: the
processor time that each part spends on a request, at one rate for both; and the requests a second
of nodes that may each use a small part of a core, so that the nodes are the limit.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import httpx

from bench import log
from bench.agreement import learn
from bench.client import Client
from bench.comparison import AMONG, FIXED_RATE
from bench.launch import on_port, started, wait
from bench.loading.identity import Workspace
from bench.measuring import spent
from bench.quota import NoLimits, limited
from bench.report import TARGETS, at_least, at_most, spread, table
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import ENDPOINTS, Target, endless, targets
from bench.variants import Server, Variant
from config.embedded import nginx, pgbouncer
from config.embedded.service import HOST
from config.ports import free_port

COUNTS = (1, 2)  # nodes
PROGRAMS = {"nginx": "nginx-light", "pgbouncer": "pgbouncer"}  # and their packages in Debian
NODE = Variant("node", "python -m config.server --port {port}", {"TRUSTED_PROXIES": "1"})
CONNECTIONS = 32  # enough for two nodes
RATE = 200  # requests a second at which the costs are compared: one node has time left
CORES = 0.2  # that a node may use while the nodes are to be the limit
SHARED = ("PgBouncer", "PostgreSQL", "Redis")
PARTS = ("nginx", "nodes", *SHARED)
# Two nodes against one:
SERVED = 1.8  # times the requests a second at least
NODE_COST, SHARED_COST = 1.05, 1.1  # times the processor time a request at most


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


@dataclass
class Nodes:
    """For each number of nodes, the rounds.

    Attributes:
        missing: why something was not measured; sentences.
    """

    at_rate: dict[int, list[Case]] = field(default_factory=lambda: {n: [] for n in COUNTS})
    limited: dict[int, list[Case]] = field(default_factory=lambda: {n: [] for n in COUNTS})
    missing: list[str] = field(default_factory=list)


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

    def measure(
        self, count: int, responses: Sequence[Target], scale: Scale, load: Callable[[Client], int]
    ) -> Case:
        """What a load on so many nodes takes; it returns the number of responses."""
        with closing(Client(self.fronts[count].port, endless(responses))) as client:
            client.warm_up(CONNECTIONS, scale.seconds / 4)
            client.drain()
            before, start = self.spent(count), time.monotonic()
            requests = load(client)
            took, after = time.monotonic() - start, self.spent(count)
            client.drain()
        used = (end - start for start, end in zip(before, after, strict=True))
        return Case(requests, took, dict(zip(PARTS, used, strict=True)))


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


def measure(stack: Stack, database: str, scale: Scale, workspaces: Sequence[Workspace]) -> Nodes:
    """One node and two, in turn: at one rate, and with little processor time."""

    def at_rate(client: Client) -> int:
        return len(client.at_rate(RATE, 2 * scale.seconds))

    def saturate(client: Client) -> int:
        return client.saturate(2 * scale.seconds)

    found = Nodes()
    for program, package in PROGRAMS.items():
        # Debian installs them where only root's PATH leads.
        if not (shutil.which(program) or shutil.which(program, path="/usr/sbin")):
            found.missing.append(f"{program} is not installed (Debian: {package}).")
    if found.missing:
        return found
    with serving(stack, database) as site:
        with stack.connect(database) as connection:
            wanted = targets(connection, ENDPOINTS[FIXED_RATE], workspaces[:AMONG])
        responses = learn({"node": site.fronts[1]}, wanted)["node"]
        for number in range(1, scale.rounds + 1):
            log(f"nodes, round {number} of {scale.rounds}")
            for count in COUNTS:
                stack.prepare(database)
                case = site.measure(count, responses, scale, at_rate)
                found.at_rate[count].append(case)
            for count in COUNTS if not found.missing else ():
                stack.prepare(database)
                try:
                    with ExitStack() as limits:
                        for node in site.nodes[:count]:
                            limits.enter_context(limited(node, CORES))
                        case = site.measure(count, responses, scale, saturate)
                except NoLimits as error:
                    found.missing.append(f"This machine sets no limits for processes: {error}.")
                    break
                found.limited[count].append(case)
    return found


def _times(cases: dict[int, list[Case]], value: Callable[[Case], float]) -> float:
    """A value of two nodes as a multiple of one node's in the same round: machines vary."""
    pairs = zip(cases[2], cases[1], strict=True)
    return median(value(two) / value(one) for two, one in pairs)


def lines(found: Nodes) -> list[str]:
    """The targets, and what each part spends."""
    verdicts, rows = [], []
    if found.limited[2]:
        times = _times(found.limited, lambda case: case.rate)
        verdicts.append(at_least(f"requests/s, {CORES:g} of a core for each node", times, SERVED))
    if found.at_rate[2]:
        times = _times(found.at_rate, lambda case: case.ms("nodes"))
        verdicts.append(at_most("processor time of the nodes", times, NODE_COST))
        times = _times(found.at_rate, lambda case: case.ms(*SHARED))
        verdicts.append(at_most(f"processor time of {', '.join(SHARED)}", times, SHARED_COST))
    for title, cases in (
        (f"at {RATE} requests/s", found.at_rate),
        (f"{CORES:g} of a core for each node", found.limited),
    ):
        for count, rounds in cases.items():
            if rounds:
                costs = (spread([case.ms(part) for case in rounds]) for part in PARTS)
                rate = spread([case.rate for case in rounds], 0)
                rows.append([title, str(count), rate, *costs])
    head = ("", "nodes", "requests/s", *(f"{part}, ms" for part in PARTS))
    missing = [f"Not measured: {' '.join(found.missing)}", ""] if found.missing else []
    return [*missing, *table(TARGETS, verdicts), *table(head, rows)]
