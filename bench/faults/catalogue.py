"""The faults, one entry each: what happens, and what is promised meanwhile."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psutil

from bench.client import Request
from bench.faults import crowds, database, processes
from bench.faults.data import Data
from bench.faults.node import Node
from bench.faults.verdict import Answer, Promise
from bench.loading import FAULTS as SCALE

BEHIND_NGINX = "two instances behind nginx"
BY_PROXY = "two instances behind nginx, PostgreSQL behind a proxy"
ALONE = "one instance without nginx"


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        during: enters and leaves it.
        seconds: between the two.
        load: the requests.
        rate: requests a second.
    """

    name: str
    title: str
    during: Callable[[Node], AbstractContextManager[None]]
    promise: Promise
    seconds: float = 12.0
    setup: str = BEHIND_NGINX
    load: Callable[[Data], Iterator[Request]] = Data.mixed
    rate: float = 16.0


@contextlib.contextmanager
def _silent_with_downloads(node: Node) -> Iterator[None]:
    with node.stack.s3.silent(), crowds.slow("slow-downloads")(node):
        yield


_UNAVAILABLE = Answer((200, 503), 6.0, 1.0)
_FROZEN = Answer((200, 503), 9.0, 1.0)  # nginx waits 8 s for a response
_WAITING = Answer((200, 503), 6.0, 6.0)
DOWN = Promise(_UNAVAILABLE, _UNAVAILABLE)
STORE = Promise(downloads=_UNAVAILABLE)
COUNTER = Promise(Answer(median=0.2), Answer(slowest=6.0, median=0.2))
SLOWER = Promise(Answer(slowest=6.0))
SLOW = Promise(ratio=3.0)

FAULTS = [
    Fault("redis-killed", "Redis killed", lambda n: n.stack.redis.killed(), COUNTER),
    Fault("redis-silent", "Redis silent (SIGSTOP)", lambda n: n.stack.redis.silent(), COUNTER),
    Fault("postgres-killed", "PostgreSQL killed", lambda n: n.stack.postgres.killed(), DOWN),
    Fault(
        "postgres-restarted",
        "PostgreSQL, fast restart",
        lambda n: n.stack.postgres.restarted(),
        DOWN,
        seconds=5,
    ),
    Fault(
        "postgres-silent", "PostgreSQL silent (SIGSTOP)", lambda n: n.stack.postgres.silent(), DOWN
    ),
    Fault(
        "postgres-dropped", "PostgreSQL's packets dropped", database.dropped, DOWN, setup=BY_PROXY
    ),
    Fault("postgres-read-only", "PostgreSQL read-only", database.read_only, STORE),
    Fault(
        "locked-documents",
        "LOCK documents_document",
        lambda n: database.locked(n, "documents_document"),
        Promise(_WAITING, _WAITING, me=Answer(median=0.2)),
    ),
    Fault(
        "locked-audit",
        "LOCK audit_auditentry",
        lambda n: database.locked(n, "audit_auditentry"),
        Promise(downloads=_WAITING),
    ),
    Fault("no-connections", "no database connections left", database.no_connections, DOWN),
    Fault("store-killed", "object storage killed", lambda n: n.stack.s3.killed(), STORE),
    Fault("store-silent", "object storage silent (SIGSTOP)", lambda n: n.stack.s3.silent(), STORE),
    Fault(
        "store-silent-downloads",
        "object storage silent while 200 downloads begin",
        _silent_with_downloads,
        STORE,
    ),
    Fault("worker-killed", "a worker killed", processes.replaced(psutil.Process.kill), SLOWER, 3),
    Fault(
        "worker-frozen",
        "a worker frozen (SIGSTOP)",
        processes.replaced(psutil.Process.suspend),
        Promise(_FROZEN, _FROZEN, also=f"replaced within {processes.REPLACED_WITHIN} s"),
        seconds=3,
    ),
    Fault("main-killed", "an instance's main process killed", processes.main_killed, SLOWER),
    Fault(
        "terminated-while-starting",
        "SIGTERM during the start of further instances",
        processes.terminated_while_starting,
        Promise(also=f"ended within {processes.GRACE_WITHIN} s"),
        seconds=1,
    ),
    Fault(
        "restarted-in-turn",
        "both instances restarted in turn",
        processes.restarted_in_turn,
        Promise(Answer(slowest=6.0), requests=10_000),
        seconds=110,
        load=lambda data: data.mixed(SCALE.keys),
        rate=100,
    ),
    Fault(
        "application-down",
        "nginx without the application",
        lambda n: processes.killed(*n.instances),
        DOWN,
    ),
]


def _slow(setup: str, suffix: str, *names: str) -> list[Fault]:
    """One fault for each of these crowds, and one for all of them."""
    kinds = {name: ("{:,} {}".format(*crowds.CROWDS[name]), [name]) for name in names}
    kinds["all-slow"] = ("all of these together", list(names))
    return [
        Fault(name + suffix, title, crowds.slow(*all_of), SLOW, setup=setup, load=Data.neighbour)
        for name, (title, all_of) in kinds.items()
    ]


FAULTS += _slow(BEHIND_NGINX, "", *crowds.CROWDS)
FAULTS += _slow(ALONE, "-alone", "slow-downloads", "slow-bodies")
