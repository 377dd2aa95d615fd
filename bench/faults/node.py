"""A node: instances of the service, and nginx in front of them."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.faults.data import Data
from bench.servers import Process, on_port, started, wait
from bench.stack import Stack
from config.dev.service import HOST
from config.runtime.ports import accepts_connections, free_port
from tests.support import nginx_files
from tests.support.processes import worker_of
from tests.support.proxy import Proxy

# For what starts services: the kernel ends a process with the thread that started it, and these
# threads stay, also after the event loop.
THREADS = ThreadPoolExecutor()
BY_NGINX = {"X_ACCEL_DOWNLOADS": "yes", "TRUSTED_PROXIES": "1"}


class Instance:
    """One instance on its own port; its log is `instance-PORT.log` in the folder."""

    process: Process

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self.folder, self.environment = folder, environment
        self._running = contextlib.ExitStack()

    def start(self) -> None:
        """Starts it, or starts it again; it may not serve yet."""
        command = on_port("python -m config.server --port {port}", self.port)
        log = self._running.enter_context((self.folder / f"instance-{self.port}.log").open("ab"))
        running = started(command, self.environment, log.fileno())
        self.process = self._running.enter_context(running)

    def wait(self) -> None:
        """Returns when it serves."""
        wait(self.port, self.process)

    def stop(self) -> None:
        """Ends it with SIGTERM and waits for it."""
        self._running.close()

    def restart(self) -> None:
        """Ends it, starts it and waits until it serves."""
        self.stop()
        self.start()
        self.wait()

    def worker(self) -> psutil.Process:
        """The process that serves."""
        worker = worker_of(self.process.pid)
        assert worker  # noqa: S101 - it serves
        return worker

    def listens(self) -> bool:
        """Whether anything accepts connections on its port."""
        return accepts_connections(HOST, self.port)


@dataclass
class Node:
    """What clients talk to.

    Attributes:
        port: nginx's, or the instance's if there is no nginx.
        database: in front of PostgreSQL, if the instances connect through it.
        data: the requests; from when they are learned.
        facts: what a fault found out, for the page.
        broken: what it found to be not as promised.
    """

    stack: Stack
    instances: list[Instance]
    port: int
    database: Proxy | None
    data: Data = field(init=False)
    facts: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def must(self, fact: str, holds: bool) -> None:
        """Notes a fact, and whether it is as promised."""
        (self.facts if holds else self.broken).append(fact)


@contextlib.contextmanager
def serving(stack: Stack, *, by_nginx: bool, by_proxy: bool) -> Iterator[Node]:
    """A node that serves.

    Args:
        by_nginx: whether two instances are behind nginx; otherwise one serves alone.
        by_proxy: whether the instances reach PostgreSQL through a proxy that can be silenced. It
            costs processor time.
    """
    with contextlib.ExitStack() as stopping:
        environment = {"DATABASE_OWNER_URL": "", **(BY_NGINX if by_nginx else {})}
        database = Proxy(os.environ["DATABASE_URL"]) if by_proxy else None
        if database:
            stopping.callback(database.stop)
            environment["DATABASE_URL"] = database.url
        running = [Instance(stack.folder, environment) for _ in range(1 + by_nginx)]
        for each in running:
            stopping.callback(each.stop)
            each.start()
        for each in running:
            each.wait()
        port = running[0].port
        if by_nginx:
            port = free_port()
            folder = stack.folder / f"nginx-{port}"  # its log of downloads is read at the end
            folder.mkdir()
            ports = [each.port for each in running]
            store = urlsplit(os.environ["S3_ENDPOINT_URL"]).netloc
            command = nginx_files.install(folder, port, ports, store, http_port=free_port())
            wait(port, stopping.enter_context(started(command, {})))
        yield Node(stack, running, port, database)


def clean(folder: Path) -> None:
    """Removes the logs of an earlier run."""
    for each in folder.glob("nginx-*"):
        shutil.rmtree(each)
    for file in folder.glob("instance-*.log"):
        file.unlink()
