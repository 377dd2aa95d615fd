"""What clients talk to, instances of the service behind nginx with deploy/; and the clients."""

import asyncio
import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
import psutil
import uvloop

from bench import servers
from bench.client import Client, Outcome, Request
from bench.loading import FAULTS as SCALE
from bench.loading import ROOT, workspaces
from bench.servers import CORES, GRANIAN, PATIENCE, WSGI, Process
from bench.stack import Stack
from bench.traffic import DETAIL, DOWNLOAD, LIST25, ME, Target, body, target
from config.dev.services import HOST
from config.ports import free_port
from tests.support import nginx_files

DEPLOY = ROOT / "deploy"
ENDPOINTS = (ME, LIST25, DETAIL, DOWNLOAD)
STEADY_KEYS = 8  # of each workspace, which the mixed load uses
WATCHDOG = servers.of_the_unit(r"WatchdogSec=(\d+)")  # seconds


class Instance:
    """One instance, kept running as systemd does: started again when it ends or says nothing."""

    process: Process

    def __init__(
        self, port: int, command: list[str], log: Path, environment: Mapping[str, str]
    ) -> None:
        self.port, self._stopping = port, threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0bench-{port}")
        environment = {**environment, "NOTIFY_SOCKET": f"@bench-{port}"}
        self._start = partial(servers.started, command, environment, log)
        self._thread = threading.Thread(target=self._keep_running)
        self._thread.start()

    def _keep_running(self) -> None:
        while not self._stopping.is_set():
            with self._start() as self.process:
                late = time.monotonic() + PATIENCE  # to start
                while not self._stopping.wait(0.1) and self.process.poll() is None:
                    with contextlib.suppress(BlockingIOError):
                        while message := self._socket.recv(100, socket.MSG_DONTWAIT):
                            seconds = 0 if message == b"WATCHDOG=trigger" else WATCHDOG
                            late = time.monotonic() + seconds
                    if time.monotonic() > late:
                        for each in servers.children(self.process):
                            each.kill()
                        self.process.kill()

    def worker(self) -> psutil.Process:
        """The process that serves: beside granian's there is a small one of Python's."""
        return max(servers.children(self.process), key=lambda each: each.memory_info().rss)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.close()


class Node(NamedTuple):
    """What clients talk to; what a fault found out, and what of it is not as promised."""

    stack: Stack
    port: int  # nginx's
    instances: list[Instance]
    facts: list[str]
    broken: list[str]


@contextlib.contextmanager
def serving(stack: Stack) -> Iterator[Node]:
    environment = {"X_ACCEL_DOWNLOADS": "yes", "TRUSTED_PROXIES": "1", "DATABASE_OWNER_URL": ""}
    environment["GRANIAN_BLOCKING_THREADS"] = str(servers.THREADS)  # as the unit sets it
    with contextlib.ExitStack() as stopping:
        instances, port = list[Instance](), free_port()
        ports = [free_port() for _ in range(2)]  # as many as deploy/upstreams.conf has
        for number, own in enumerate(ports):
            command = servers.on_port(f"{GRANIAN} {WSGI} {servers.THREADS}", own)
            command = ["taskset", "--cpu-list", str(CORES[number % len(CORES)]), *command]
            log = stack.folder / f"instance-{number}.log"
            instances.append(Instance(own, command, log, {**servers.API, **environment}))
            stopping.callback(instances[-1].stop)
        for own in ports:
            servers.wait(own)
        folder = stack.folder / "nginx"
        folder.mkdir(exist_ok=True)
        store = urlsplit(os.environ["S3_ENDPOINT_URL"]).netloc
        unused = free_port()  # by the requests of the faults
        command = nginx_files.install(
            folder, port, ports, store, pages=unused, http_port=free_port()
        )
        stopping.enter_context(servers.started(command, {}, stack.folder / "nginx.log"))
        servers.wait(port)
        yield Node(stack, port, instances, [], [])


def learn(port: int) -> dict[str, list[Request]]:
    """The requests of each load, which repeats them, with the right bodies: all is healthy now."""
    acme, umbrella = workspaces(SCALE)
    targets = [target(endpoint, tenant) for tenant in (acme, umbrella) for endpoint in ENDPOINTS]
    with httpx.Client(base_url=f"http://{HOST}:{port}", timeout=30) as client:
        known = [each._replace(body=body(client, each.workspace, each.path)) for each in targets]

    def requests(keys: int, targets: list[Target]) -> list[Request]:
        return [each.request(each.workspace.keys[key]) for key in range(keys) for each in targets]

    reads = requests(SCALE.keys, [each for each in known if each.endpoint != DOWNLOAD])
    mixed, neighbour = requests(STEADY_KEYS, known), requests(SCALE.keys, known[4:6])
    return {"mixed": mixed, "reads": reads, "neighbour": neighbour, "one key": reads[:3]}


@contextlib.contextmanager
def steady(client: Client, requests: Sequence[Request], rate: float) -> Iterator[list[Outcome]]:
    """An open loop of so many requests a second meanwhile; complete at the end."""
    stop = threading.Event()

    async def go() -> None:
        load = asyncio.create_task(client.at_rate(itertools.cycle(requests), rate, 1e6))
        while not stop.is_set():
            await asyncio.sleep(0.05)
        load.cancel()
        await client.close()

    thread = threading.Thread(target=lambda: uvloop.run(go()))
    thread.start()
    try:
        yield client.outcomes
    finally:
        stop.set()
        thread.join()


def send(
    port: int, load: Sequence[Request], seconds: float, rate: float = 0, *closed: float
) -> tuple[list[Outcome], float]:
    """An open loop of so many requests a second; or a closed one, of so many connections and pause.

    Returns the outcomes, and in how many seconds the requests were sent.
    """

    async def go() -> float:
        requests, start = itertools.cycle(load), time.monotonic()
        if rate:
            await client.at_rate(requests, rate, seconds)
        else:
            connections, *pause = closed
            await client.saturate(requests, int(connections), seconds / 10, *pause)
            await asyncio.sleep(seconds * 0.9)
        took = time.monotonic() - start
        await client.close()
        return took

    client = Client(port)
    return client.outcomes, uvloop.run(go())
