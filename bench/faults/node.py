"""What clients talk to: instances of the service, and nginx with the files of deploy/ before them."""

import contextlib
import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.servers import (
    API,
    CORES,
    GRANIAN,
    PATIENCE,
    ROOT,
    THREADS,
    WSGI,
    Process,
    kill_all,
    of_the_unit,
    on_port,
    started,
    wait,
)
from bench.stack import Stack
from config.dev.service import HOST
from config.runtime.ports import free_port
from tests.support.proxy import Proxy

WATCHDOG = of_the_unit(r"WatchdogSec=(\d+)", 20)  # seconds
RUN_THREADS = 64  # of `make run`
NGINX = "behind nginx"
BY_PROXY = "behind nginx, PostgreSQL behind a proxy"
ALONE = "one process without nginx, as make run starts it"


class Instance:
    """One instance, kept running as systemd does: started again when it ends or says nothing."""

    process: Process

    def __init__(
        self, port: int, folder: Path, core: int, threads: int, more: dict[str, str]
    ) -> None:
        self.port, self._stopping = port, threading.Event()
        self._log, notified = folder / f"instance-{port}.log", str(folder / f"notify-{port}")
        Path(notified).unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(notified)
        self._environment = {**more, "NOTIFY_SOCKET": notified}
        command = on_port(f"{GRANIAN} 1 {WSGI.format(threads=threads)}", port)
        self._command = ["taskset", "--cpu-list", str(core), *command]
        self._thread = threading.Thread(target=self._keep_running)
        self._thread.start()

    def _keep_running(self) -> None:
        while not self._stopping.is_set():
            with started(self._command, self._environment, self._log) as self.process:
                heard = time.monotonic() + PATIENCE  # to start
                while not self._stopping.wait(0.1) and self.process.poll() is None:
                    with contextlib.suppress(BlockingIOError):
                        while self._socket.recv(100, socket.MSG_DONTWAIT):
                            heard = time.monotonic() + WATCHDOG
                    if time.monotonic() > heard:
                        kill_all(self.process)

    def worker(self) -> psutil.Process:
        """The process that serves: beside granian's there is a small one of Python's."""
        children = psutil.Process(self.process.pid).children()
        return max(children, key=lambda each: each.memory_info().rss)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.close()


@dataclass
class Node:
    """What clients talk to.

    Attributes:
        port: nginx's, or the instance's if there is no nginx.
        database: in front of PostgreSQL, if the instances connect through it.
        facts: what a fault found out, for the page.
        broken: what it found to be not as promised.
    """

    stack: Stack
    port: int
    instances: list[Instance]
    database: Proxy | None
    facts: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def _front(folder: Path, port: int, ports: Mapping[str, int]) -> list[str]:
    """Copies nginx's files, with our folder and ports; returns nginx's command."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    changes = {
        r"^user .*;": "user root;" if os.geteuid() == 0 else "",  # who can read the folder
        r"/var/log/documents-api|/var/lib/nginx|/run(?=/nginx\.pid)": str(folder),
        r"^ *(listen \[::\]|ssl_).*\n": "",
        r"listen 80 ": f"listen {HOST}:{free_port()} ",
        r"listen 443( ssl)?( http2)?": f"listen {HOST}:{port}",
        **{rf"127\.0\.0\.1:{number}\b": f"{HOST}:{ours}" for number, ours in ports.items()},
    }
    for file in (ROOT / "deploy").glob("*.conf"):
        text = file.read_text()
        for pattern, replacement in changes.items():
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        (folder / file.name).write_text(text)
    return ["nginx", "-p", f"{folder}/", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]


def _upstreams() -> dict[str, int]:
    """A port of ours for each address of the API in deploy/; nothing here asks for pages."""
    text = (ROOT / "deploy" / "upstreams.conf").read_text()
    blocks = dict(re.findall(r"^upstream (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL))
    api = [block for name, block in blocks.items() if name not in ("pages", "object_storage")]
    return {number: free_port() for number in re.findall(r"127\.0\.0\.1:(\d+)", str(api))}


@contextlib.contextmanager
def serving(stack: Stack, setup: str) -> Iterator[Node]:
    """A node that serves."""
    with contextlib.ExitStack() as stopping:
        environment, database = {**API, "DATABASE_OWNER_URL": ""}, None
        if setup == BY_PROXY:
            database = Proxy(os.environ["DATABASE_URL"])
            stopping.callback(database.stop)
            environment["DATABASE_URL"] = database.url
        ports, threads = {"": free_port()}, RUN_THREADS
        if setup != ALONE:
            ports, threads = _upstreams(), THREADS
            environment |= {"X_ACCEL_DOWNLOADS": "yes", "TRUSTED_PROXIES": "1"}
        instances = []
        for number, port in enumerate(ports.values()):
            core = CORES[number % len(CORES)]
            instances.append(Instance(port, stack.folder, core, threads, environment))
            stopping.callback(instances[-1].stop)
        for port in ports.values():
            wait(port)
        if setup != ALONE:
            store, port = urlsplit(os.environ["S3_ENDPOINT_URL"]).port or 80, free_port()
            command = _front(stack.folder / "nginx", port, {**ports, "9000": store})
            stopping.enter_context(started(command, {}, stack.folder / "nginx.log"))
            wait(port)
        yield Node(stack, port, instances, database)
