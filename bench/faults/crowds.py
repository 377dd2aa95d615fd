"""Clients that are slow, or many, beside those whose requests are measured."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from bench.faults.node import Node
from config.dev.service import HOST
from tests.support.slow_clients import SIGN_IN_FORM, SlowClients

MANY = 200  # downloads, and request bodies
HALF_HEADERS = 300
IDLE = 3000  # connections
HEADERS = f"GET /api/v1/me HTTP/1.1\r\nHost: {HOST}\r\nX-Slow: ".encode()

Crowd = Callable[[SlowClients, Node], None]


def downloads(clients: SlowClients, node: Node) -> None:
    """Large downloads at 1 KB/s, with all keys of the first workspace."""
    for [request] in itertools.islice(itertools.cycle(node.data.acme["large"]), MANY):
        clients.read(request.wire)


def bodies(clients: SlowClients, node: Node) -> None:
    """Sign-in forms, a byte a second."""
    for _ in range(MANY):
        clients.send(SIGN_IN_FORM)


def half_headers(clients: SlowClients, node: Node) -> None:
    """Requests whose headers never end, a byte a second."""
    for _ in range(HALF_HEADERS):
        clients.send(HEADERS)


def idle(clients: SlowClients, node: Node) -> None:
    """Connections that send nothing."""
    for _ in range(IDLE):
        clients.idle()


def slow(*crowds: Crowd) -> Callable[[Node], AbstractContextManager[None]]:
    """The fault that these clients are, all together."""

    @contextlib.contextmanager
    def during(node: Node) -> Iterator[None]:
        with SlowClients(node.port) as clients:
            for crowd in crowds:
                crowd(clients, node)
            yield
            statuses = Counter(clients.statuses())
        if statuses:
            shown = ", ".join(f"{status} × {count}" for status, count in sorted(statuses.items()))
            node.facts.append(f"the slow downloads: {shown}")

    return during
