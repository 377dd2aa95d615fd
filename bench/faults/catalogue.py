"""The faults, one entry each: what happens, and what is promised meanwhile."""

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from signal import SIGKILL, SIGSTOP
from statistics import median
from typing import NamedTuple

import psutil

from bench.client import Outcome, counts
from bench.faults.node import ENDPOINTS, Node
from bench.loading import FAULTS as SCALE
from bench.loading import workspaces
from bench.servers import PATIENCE, wait
from bench.stack import killed, silent
from bench.traffic import DOWNLOAD, ME, target
from config.dev.services import HOST
from tests.support.slow_clients import SIGN_IN_FORM, SlowClients


class Answer(NamedTuple):
    """What clients may see: statuses, and seconds of the slowest and of the median response."""

    statuses: tuple[int, ...] = (200,)
    slowest: float = 1.0
    median: float = 1.0

    def __str__(self) -> str:
        text = f"{' or '.join(map(str, self.statuses))} within {self.slowest:g} s"
        return text + (f", half within {self.median:g} s" if self.median < self.slowest else "")

    def broken(self, outcomes: Sequence[Outcome]) -> list[str]:
        rude = [o for o in outcomes if o.status == 503 and not o.polite]
        others = [o for o in outcomes if o.problem or o.status not in self.statuses]
        times = [o.seconds for o in outcomes] or [0.0]
        found = [counts(others)] if others else []
        found += [f"503 without Retry-After or JSON × {len(rude)}"] if rude else []
        found += [f"slowest {max(times):.1f} s"] if max(times) > self.slowest else []
        return found + ([f"median {median(times):.2f} s"] if median(times) > self.median else [])


class Fault(NamedTuple):
    """One fault, and each endpoint's promise; the median may be `ratio` times the one before."""

    name: str
    title: str
    during: Callable[[Node], AbstractContextManager[None]]
    promise: dict[str, Answer]
    ratio: float = 0.0


@contextlib.contextmanager
def _locked(node: Node) -> Iterator[None]:
    """Another session has locked a table, as a careless migration does."""
    with node.stack.administrator() as connection, connection.transaction():
        connection.execute("LOCK TABLE documents_document")
        yield


@contextlib.contextmanager
def _worker(node: Node, number: int, within: float) -> Iterator[None]:
    """A signal to a worker; the fault lasts until its replacement serves."""
    instance, start = node.instances[0], time.monotonic()
    worker = instance.worker()
    worker.send_signal(number)
    with contextlib.suppress(psutil.TimeoutExpired):
        worker.wait(PATIENCE)
    wait(instance.port)
    took = time.monotonic() - start
    found = node.facts if took <= within else node.broken
    found.append(f"replaced after {took:.1f} s, at most {within:g} s are promised")
    yield


@contextlib.contextmanager
def _slow(node: Node, downloads: int, *others: bytes) -> Iterator[None]:
    """Clients that read a large file at 1 KB a second, and some that send a byte a second."""
    acme = workspaces(SCALE)[0]
    large = itertools.cycle(target(DOWNLOAD, acme).request(key).wire for key in acme.keys)
    with SlowClients(node.port) as clients:
        for request in itertools.islice(large, downloads):
            clients.read(request)
        for beginning in others:
            clients.send(beginning) if beginning else clients.idle()
        yield
        if downloads:
            node.facts.append(f"slow downloads: {dict(Counter(clients.statuses()))}")


FINE = {**dict.fromkeys(ENDPOINTS, Answer()), DOWNLOAD: Answer(slowest=6.0)}
WITHOUT_REDIS = {**dict.fromkeys(ENDPOINTS, Answer(slowest=0.5)), DOWNLOAD: FINE[DOWNLOAD]}
WITHOUT_STORE = {**FINE, DOWNLOAD: Answer((200, 503), 6.0, 6.0)}
AT_ONCE = dict.fromkeys(ENDPOINTS, Answer((200, 503), 1.0, 0.5))
BY_TIME_OUT = dict.fromkeys(ENDPOINTS, Answer((200, 503), 9.0, 9.0))  # nginx waits 8 s
FROZEN = dict.fromkeys(ENDPOINTS, Answer((200, 503), 9.0, 1.0))
LOCKED = {**BY_TIME_OUT, ME: Answer(slowest=6.0, median=0.2)}
BODIES, IDLE = (SIGN_IN_FORM,) * 200, (b"",) * 3000
HEADERS = (f"GET /api/v1/me HTTP/1.1\r\nHost: {HOST}\r\nX-Slow: ".encode(),) * 300
ALL = (*BODIES, *HEADERS, *IDLE)

FAULTS = [
    Fault("redis-killed", "Redis killed", lambda n: killed(n.stack.redis), WITHOUT_REDIS),
    Fault("redis-silent", "Redis silent", lambda n: silent(n.stack.redis), WITHOUT_REDIS),
    Fault("store-killed", "object storage killed", lambda n: killed(n.stack.s3), WITHOUT_STORE),
    Fault("store-silent", "object storage silent", lambda n: silent(n.stack.s3), WITHOUT_STORE),
    Fault("postgres-killed", "PostgreSQL killed", lambda n: killed(n.stack.postgres), AT_ONCE),
    Fault("postgres-silent", "PostgreSQL silent", lambda n: silent(n.stack.postgres), BY_TIME_OUT),
    Fault("locked-documents", "LOCK documents_document", _locked, LOCKED),
    Fault("worker-killed", "a worker killed", lambda n: _worker(n, SIGKILL, 5), FINE),
    Fault("worker-frozen", "a worker silent", lambda n: _worker(n, SIGSTOP, 30), FROZEN),
    Fault("slow-downloads", "200 downloads at 1 KB/s", lambda n: _slow(n, 200), FINE, 3),
    Fault("slow-bodies", "200 bodies at a byte a second", lambda n: _slow(n, 0, *BODIES), FINE, 3),
    Fault("half-headers", "300 half headers", lambda n: _slow(n, 0, *HEADERS), FINE, 3),
    Fault("idle", "3,000 idle connections", lambda n: _slow(n, 0, *IDLE), FINE, 3),
    Fault("all-slow", "all of these", lambda n: _slow(n, 200, *ALL), FINE, 3),
]
