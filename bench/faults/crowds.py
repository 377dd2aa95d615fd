"""Clients that are slow, or many, beside those whose requests are measured."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from bench.faults.node import Node
from config.embedded.service import HOST
from tests.support.slow_clients import SIGN_IN_FORM, SlowClients

HEADERS = f"GET /api/v1/me HTTP/1.1\r\nHost: {HOST}\r\nX-Slow: ".encode()
# How many of each crowd, and what each of them does; `large` is a download of the first workspace's
# large file, with another key each time. What they send and read is a byte or 1 KB a second.
CROWDS: dict[str, tuple[int, str, Callable[[SlowClients, bytes], None]]] = {
    "slow-downloads": (200, "downloads at 1 KB/s", lambda clients, large: clients.read(large)),
    "slow-bodies": (200, "bodies, a byte at a time", lambda clients, _: clients.send(SIGN_IN_FORM)),
    "half-headers": (300, "half headers", lambda clients, _: clients.send(HEADERS)),
    "idle": (3000, "idle connections", lambda clients, _: clients.idle()),
}


def slow(*names: str) -> Callable[[Node], AbstractContextManager[None]]:
    """The fault that these crowds are, all together."""

    @contextlib.contextmanager
    def during(node: Node) -> Iterator[None]:
        large = itertools.cycle(request.wire for [request] in node.data.acme["large"])
        with SlowClients(node.port) as clients:
            for name in names:
                count, _, begin = CROWDS[name]
                for request in itertools.islice(large, count):
                    begin(clients, request)
            yield
            statuses = Counter(clients.statuses())
        if statuses:
            shown = ", ".join(f"{status} × {count}" for status, count in sorted(statuses.items()))
            node.facts.append(f"the slow downloads: {shown}")

    return during
