"""What deliveries of webhooks cost beside the API: `python -m bench.webhooks`.

Documents change at a fixed rate, and a client lists documents at a fixed rate; first without a
process that delivers, then with one. All of it, the TLS receiver included, is on this machine.
"""

import argparse
import asyncio
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles

import django
import psutil
import psycopg
from psycopg import sql

from bench import log, stack
from bench.launch import ROOT, started, wait
from config.ports import free_port

DATABASE = "bench_webhooks"
ENDPOINTS = 20
KEYS = 40  # each may send 300 requests a minute
HOST = "127.0.0.1"


@dataclass
class Phase:
    """What was measured in some seconds."""

    seconds: float
    events: int = 0
    delivered: int = 0
    latencies: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    processor: dict[str, float] = field(default_factory=dict)

    def print(self, name: str) -> None:
        cuts = [1000 * each for each in quantiles(self.latencies, n=100)]
        used = ", ".join(f"{name} {100 * each:.0f} %" for name, each in self.processor.items())
        print(  # noqa: T201 - a program that prints
            f"{name}: {self.events / self.seconds:.0f} events/s, "
            f"{self.delivered / self.seconds:.0f} deliveries/s; list of 25 documents, ms: "
            f"median {cuts[49]:.1f}, 95 % {cuts[94]:.1f}, 99 % {cuts[98]:.1f}; of a core: {used}"
        )
        if self.late:
            waits = quantiles(self.late, n=100)
            print(  # noqa: T201
                f"  from the event to the receiver: median {waits[49]:.2f} s, "
                f"99 % {waits[98]:.2f} s, longest {max(self.late):.2f} s"
            )


class Receiver:
    """Responds to each POST with 204, over TLS."""

    def __init__(self, folder: Path) -> None:
        self.certificate, key = folder / "webhooks.pem", folder / "webhooks.key"
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x"
        subprocess.run(  # noqa: S603 - our own
            ["openssl", *words.split(), "-addext", f"subjectAltName=IP:{HOST}"]  # noqa: S607
            + ["-keyout", str(key), "-out", str(self.certificate)],
            check=True,
            capture_output=True,
        )
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, key)
        self.port = free_port()
        self.arrived: dict[str, float] = {}  # event → time

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._respond, HOST, self.port, ssl=self._context)
        await server.serve_forever()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(fields["content-length"]))
        self.arrived.setdefault(fields["webhook-id"], time.time())
        writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        writer.close()


def prepare(parts: stack.Stack) -> tuple[list[str], list[str]]:
    """Makes the database; returns raw keys, and the ids of the documents that change."""
    with parts.connect("postgres") as connection:
        name = sql.Identifier(DATABASE)
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
    for variable in ("DATABASE_URL", "DATABASE_OWNER_URL"):
        os.environ[variable] = parts.url(DATABASE, variable)
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(migrate, cwd=ROOT, check=True)  # noqa: S603 - our own
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from config.static_files import collect  # noqa: PLC0415 - after the set-up
    from events.webhooks import secrets  # noqa: PLC0415
    from events.webhooks.models import Endpoint  # noqa: PLC0415
    from tests.support import factories  # noqa: PLC0415

    collect()  # the API does not start without
    tenants = [factories.tenant(f"Tenant{each}", "PRO", each + 1) for each in range(ENDPOINTS)]
    documents = []
    for tenant in tenants:
        documents += [str(each.id) for each in factories.listed(tenant.workspace, 1000)]
    keys = [
        factories.issue(tenant.workspace, f"Sync {number}", tenant.admin)[1]
        for number in range(KEYS // ENDPOINTS)
        for tenant in tenants
    ]
    for tenant in tenants:
        Endpoint.objects.create(
            workspace=tenant.workspace,
            url="https://not-set/",
            types=["document.viewed", "document.sent"],
            secret=secrets.encrypt(secrets.new()),
        )
    return keys, documents


def change(url: str, documents: list[str], rate: int, end: float) -> None:
    """Changes so many documents a second, each in a transaction of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        began = time.monotonic()
        for number in range(1_000_000):
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            if time.monotonic() > end:
                return
            connection.execute(
                "UPDATE documents_document SET status ="
                " CASE WHEN status = 'SENT' THEN 'VIEWED' ELSE 'SENT' END WHERE id = %s",
                [documents[number * 997 % len(documents)]],
            )


def list_documents(port: int, keys: list[str], rate: int, end: float, into: list[float]) -> None:
    """Requests pages at a fixed rate, and notes their seconds from when they were due."""
    connection = HTTPConnection(HOST, port)
    began = time.monotonic()
    for number in range(1_000_000):
        due = began + number / rate
        time.sleep(max(0.0, due - time.monotonic()))
        if due > end:
            return
        headers = {"Authorization": f"Bearer {keys[number % len(keys)]}"}
        connection.request("GET", "/api/v1/documents?limit=25", headers=headers)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise SystemExit(f"a page has the status {response.status}")
        into.append(time.monotonic() - due)


@contextmanager
def processor_time(processes: dict[str, psutil.Process], phase: Phase) -> Iterator[None]:
    """Adds the share of a core that each process and its children use."""

    def used() -> dict[str, float]:
        found = {}
        for name, process in processes.items():
            own = process.cpu_times()  # with the children that have ended
            times = [each.cpu_times() for each in process.children(recursive=True)]
            found[name] = sum(own[:4]) + sum(each.user + each.system for each in times)
        return found

    before = used()
    yield
    phase.processor = {name: (end - before[name]) / phase.seconds for name, end in used().items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures deliveries beside the API.")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rate", type=int, default=100, help="documents that change a second")
    parser.add_argument("--requests", type=int, default=50, help="pages a second")
    options = parser.parse_args()
    parts = stack.provide()
    keys, documents = prepare(parts)
    from django.db import connection  # noqa: PLC0415 - after the set-up

    from events.webhooks.models import Delivery, Endpoint  # noqa: PLC0415

    receiver = Receiver(parts.folder)
    threading.Thread(target=receiver.run, daemon=True).start()
    Endpoint.objects.update(url=f"https://{HOST}:{receiver.port}/")
    port = free_port()
    with ExitStack() as running:
        server = [sys.executable, "-m", "config.server", "--port", str(port)]
        api = running.enter_context(started(server, {"HTTPS_ONLY": "no"}))
        wait(port, api)
        processes = {
            "API": psutil.Process(api.pid),
            "PostgreSQL": psutil.Process(parts.postgres),
        }
        for name in ("without", "with one process that delivers"):
            if name != "without":
                Delivery.objects.all().delete()
                variables = {"WEBHOOK_TARGETS": "any", "SSL_CERT_FILE": str(receiver.certificate)}
                command = [sys.executable, "manage.py", "deliver_webhooks"]
                delivers = running.enter_context(started(command, variables))
                time.sleep(5)
                processes["deliveries"] = psutil.Process(delivers.pid)
            connection.close()
            log(f"{options.seconds} s {name}")
            phase = Phase(options.seconds)
            end = time.monotonic() + options.seconds
            url = os.environ["DATABASE_OWNER_URL"]
            threads = [
                threading.Thread(target=change, args=(url, documents, options.rate, end)),
                threading.Thread(
                    target=list_documents,
                    args=(port, keys, options.requests, end, phase.latencies),
                ),
            ]
            with processor_time(processes, phase):
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            phase.delivered = len(receiver.arrived)
            phase.events = Delivery.objects.count()
            time.sleep(2)
            for event, occurred in Delivery.objects.values_list("event_id", "occurred_at"):
                if arrived := receiver.arrived.get(f"evt_{event.hex}"):
                    phase.late.append(arrived - occurred.timestamp())
            phase.print(name)


if __name__ == "__main__":
    main()
