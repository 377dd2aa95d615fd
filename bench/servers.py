"""The servers: what is compared, and how processes are started."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

import httpx
import psutil
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bench.loading import ROOT
from config.dev.services import HOST, die_with_parent
from config.ports import free_port
from tests.support.nginx_files import PROGRAM

PATIENCE = 60.0  # seconds that anything gets to start or to stop
CORES = sorted(os.sched_getaffinity(0))
WORKERS = len(CORES)  # processes, for all
OURS, DRF, STARLETTE, NGINX = "this service", "stock DRF", "raw Starlette", "nginx alone"
Process = subprocess.Popen[bytes]


def of_the_unit(pattern: str) -> int:
    """A number in the unit of the API, as operators install it."""
    unit = (ROOT / "deploy" / "systemd" / "documents-api@.service").read_text()
    [number] = re.findall(pattern, unit)
    return int(number)


THREADS = of_the_unit(r"BLOCKING_THREADS=(\d+)")
GRANIAN = f"granian --log-level warning --host {HOST} --port {{port}}"
WSGI = "--interface wsgi --http 1 --no-ws --respawn-failed-workers --workers-kill-timeout 30 \
config.wsgi:application --blocking-threads"
API = {"ROLE": "api", "LOG_FORMAT": "json", "GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT": "600"}
# redis-py uses hiredis wherever it is importable; requirements.txt does not have it.
AS_INSTALLED = {"PYTHONPATH": str(ROOT / "bench" / "peers" / "without_hiredis")}


class Variant(NamedTuple):
    command: str
    environment: Mapping[str, str]


# Each as its own community would run it; only this service writes a log line for each request.
VARIANTS = {
    OURS: Variant(f"{GRANIAN} --workers {WORKERS} {WSGI} {THREADS}", {**AS_INSTALLED, **API}),
    DRF: Variant(
        f"gunicorn --workers {WORKERS} --worker-class gthread --threads 4 --keep-alive 75"
        f" --log-level error --bind {HOST}:{{port}} django.core.wsgi:get_wsgi_application()",
        {**AS_INSTALLED, "DJANGO_SETTINGS_MODULE": "bench.peers.drf.settings"},
    ),
    STARLETTE: Variant(
        f"{GRANIAN} --workers {WORKERS} --interface asgi bench.peers.starlette:app", {}
    ),
}


def on_port(command: str, port: int) -> list[str]:
    program, *words = command.format(port=port).split()
    return [str(Path(sys.executable).parent / program), *words]


@contextlib.contextmanager
def started(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Process]:
    """A process that ends with the benchmark, however that ends; a server may not respond yet."""
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
            preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509
        )
    try:
        yield process
    finally:
        family = children(process)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        for each in family:  # granian can end before a worker that is still starting
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def children(process: Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def wait(port: int) -> None:
    """Returns when the API responds on the port; raises RuntimeError if it does not."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=5).status_code == 401:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing serves on port {port}")


def pin(process: psutil.Process, cores: Iterable[int]) -> None:
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)


class Server(NamedTuple):
    """A variant that runs: its name, the ancestor of its processes, a client of single requests."""

    title: str
    port: int
    process: Process
    client: httpx.Client


@contextlib.contextmanager
def serving(variants: Mapping[str, Variant], folder: Path) -> Iterator[dict[str, Server]]:
    """All variants, logs in a folder, on one database; each worker kept to a core as in units."""
    with contextlib.ExitStack() as stopping:
        servers = {}
        for title, each in variants.items():
            port, log = free_port(), folder / f"{title.replace(' ', '-')}.log"
            command = on_port(each.command, port)
            running = started(command, each.environment, log)
            process = stopping.enter_context(running)
            client = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=60)
            servers[title] = Server(title, port, process, stopping.enter_context(client))
        for server in servers.values():
            wait(server.port)
            family = sorted(children(server.process), key=lambda each: -sum(each.cpu_times()[:2]))
            for worker, core in zip(family, CORES, strict=False):
                pin(worker, [core])
        yield servers


@contextlib.contextmanager
def nginx_alone(folder: Path, key: str) -> Iterator[Server]:
    """nginx that sends one object, without a key, a limit or an audit entry."""
    port, store = free_port(), os.environ["S3_ENDPOINT_URL"].partition("//")[2]
    signed = AWSRequest("GET", f"http://{store}/{os.environ['S3_BUCKET']}/{key}")
    keys = Credentials(os.environ["S3_ACCESS_KEY_ID"], os.environ["S3_SECRET_ACCESS_KEY"])
    S3SigV4QueryAuth(keys, "s3", "us-east-1", 86_400).add_auth(signed)
    object = str(signed.url).removeprefix(f"http://{store}")
    template = Template((ROOT / "bench" / "peers" / "nginx.conf").read_text())
    values = {"port": port, "workers": WORKERS, "store": store, "object": object}
    (folder / "nginx.conf").write_text(template.substitute(values))
    command = [PROGRAM, "-p", f"{folder}/", "-c", f"{folder}/nginx.conf", "-g", "daemon off;"]
    with started(command, {}, folder / "nginx.log") as process, httpx.Client() as client:
        wait(port)
        yield Server(NGINX, port, process, client)
