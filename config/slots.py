"""Slots: how many requests run at once, so that one kind of request never stops another.

Each class of requests (documents, the API's other paths, downloads, pages for people, passwords)
has its own slots. A request without a free slot waits, at most `PATIENCE` seconds and with a
limited number of others; then it is refused. Those that wait are served in turn by tenant, so that
a workspace with many requests delays its own; of two turns one is a signed-in user's, however many
others wait.

In a server process each slot has its own database connection: the number of connections depends
on the slots, not on the number of threads.
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import ConnStatus, PipelineStatus, TransactionStatus

PATIENCE = 2.0  # seconds that a request waits for a slot


class NoSlot(Exception):
    """No slot became free in time, or too many requests wait already."""


class SignedIn(NamedTuple):
    """A signed-in user as a tenant, who does not wait for all who are not signed in."""

    user_id: int


class _Waiter:
    """A request that waits; `granted` is None until it is decided, under the gate's lock."""

    def __init__(self) -> None:
        self.granted: bool | None = None
        self._undecided = threading.Lock()  # cheaper than an Event
        self._undecided.acquire()

    def decide(self, *, granted: bool) -> None:
        self.granted = granted
        self._undecided.release()

    def wait(self, seconds: float) -> bool:
        """Waits for the decision; returns whether it may run."""
        return self._undecided.acquire(timeout=seconds) and bool(self.granted)


_Queues = OrderedDict[Hashable, deque[_Waiter]]  # by tenant


class Gate:
    """The slots of one class of requests.

    Args:
        slots: requests that run at once.
        places: requests that may wait. If there are more, the tenant with most of them loses one.
        share: slots that one tenant may hold, so that another one's request need not wait.
        patience: seconds that a request waits instead of `PATIENCE`.

    Attributes:
        in_use: slots that are held now.
        waiting: requests that wait now.
        refused: requests that got no slot since the process started.
    """

    _nobody = object()

    def __init__(
        self, slots: int, places: int, share: int | None = None, patience: float | None = None
    ) -> None:
        self.in_use = 0
        self.waiting = 0
        self.refused = 0
        self._slots = slots
        self._places = places
        self._share = slots if share is None else share
        self._patience = PATIENCE if patience is None else patience
        self._held: Counter[Hashable] = Counter()  # slots, by tenant
        self._lock = threading.Lock()
        # Of signed-in users (True), and of all others.
        self._queues: dict[bool, _Queues] = {True: OrderedDict(), False: OrderedDict()}
        self._turn = True  # whose turn is next, if they wait
        self._connections: list[BaseDatabaseWrapper] = []
        self._free: list[BaseDatabaseWrapper] = []

    def open(self) -> None:
        """Gives each slot a database connection, which connects when it is first used."""
        for _ in range(self._slots):
            connection = connections.create_connection(DEFAULT_DB_ALIAS)
            connection.inc_thread_sharing()  # one thread after the other uses it
            self._connections.append(connection)
            self._free.append(connection)

    @property
    def connected(self) -> int:
        """How many database connections are open."""
        return sum(each.connection is not None for each in self._connections)

    def enter(self, tenant: Hashable = None) -> None:
        """Takes a slot, and makes its database connection the thread's.

        Args:
            tenant: whose request it is.

        Raises:
            NoSlot: there is none.
        """
        with self._lock:
            if self.in_use < self._slots and self._held[tenant] < self._share:
                self._take(tenant)
                waiter = None
            else:
                waiter = _Waiter()
                queues = self._queues[isinstance(tenant, SignedIn)]
                queues.setdefault(tenant, deque()).append(waiter)
                self.waiting += 1
                if self.waiting > self._places:
                    self._refuse_one()
        if waiter and not waiter.wait(self._patience):
            self._give_up(tenant, waiter)
        if self._connections:
            connections[DEFAULT_DB_ALIAS] = self._free.pop()

    def _take(self, tenant: Hashable) -> None:
        self.in_use += 1
        self._held[tenant] += 1

    def _refuse_one(self) -> None:
        """Refuses the last request of the tenant that has most waiting. Needs the lock.

        Signed-in users are refused only if nobody else waits.
        """
        queues = self._queues[False] or self._queues[True]
        tenant = max(queues, key=lambda each: len(queues[each]))
        waiter = queues[tenant][-1]
        self._remove(tenant, waiter)
        waiter.decide(granted=False)

    def _remove(self, tenant: Hashable, waiter: _Waiter) -> None:
        queues = self._queues[isinstance(tenant, SignedIn)]
        queues[tenant].remove(waiter)
        if not queues[tenant]:
            del queues[tenant]
        self.waiting -= 1
        self.refused += 1

    def _give_up(self, tenant: Hashable, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.granted:  # just now
                return
            if waiter.granted is None:
                self._remove(tenant, waiter)
        raise NoSlot

    def leave(self, tenant: Hashable = None) -> None:
        """Returns the slot that this thread holds; the next request in turn gets it."""
        if self._connections:
            connection = connections[DEFAULT_DB_ALIAS]
            del connections[DEFAULT_DB_ALIAS]
            close_if_unusable(connection)
            self._free.append(connection)
        with self._lock:
            self.in_use -= 1
            self._held[tenant] -= 1
            if not self._held[tenant]:
                del self._held[tenant]
            in_turn = chain(self._queues[self._turn], self._queues[not self._turn])
            waiting = (each for each in in_turn if self._held[each] < self._share)
            following = next(waiting, self._nobody)
            if following is self._nobody:
                return
            signed_in = isinstance(following, SignedIn)
            self._turn = not signed_in
            queues = self._queues[signed_in]
            queue = queues.pop(following)
            waiter = queue.popleft()
            if queue:
                queues[following] = queue  # at the end: the other tenants are first
            self.waiting -= 1
            self._take(following)
            waiter.decide(granted=True)


def close_if_unusable(connection: BaseDatabaseWrapper) -> None:
    """Closes a connection that is broken or was left in a transaction.

    Django would send a query to find out, which could wait for a silent database.
    """
    raw = connection.connection
    if raw is not None and (
        raw.pgconn.status != ConnStatus.OK
        or raw.pgconn.transaction_status != TransactionStatus.IDLE
        or raw.pgconn.pipeline_status != PipelineStatus.OFF
    ):
        connection.close()
    connection.errors_occurred = False


_THREADS = settings.SERVER_THREADS
# All that run and wait together, and the downloads that this process sends, are fewer than the
# threads: a thread is always free to refuse a request, or for `/healthz`. The API has as many
# places as nginx sends requests (max_conns in deploy/upstreams.conf): nginx refuses more cheaply.
GATES = {
    # More at once would be slower: Python runs one thread at a time.
    "documents": Gate(settings.API_SLOTS, _THREADS * 3 // 8, max(1, settings.API_SLOTS - 1)),
    # `/me` and the events, which do not wait for a locked table of documents.
    "api": Gate(2, _THREADS // 8),
    # Until the first byte of the file.
    "download": Gate(settings.DOWNLOAD_SLOTS, _THREADS // 12, max(1, settings.DOWNLOAD_SLOTS - 1)),
    "page": Gate(settings.PAGE_SLOTS, _THREADS // 24, max(1, settings.PAGE_SLOTS - 1)),
    # A hash takes a core for some tenths of a second. A long queue is served, rather than refused:
    # each address has its turn, and those who guess wait for theirs.
    "password": Gate(1, _THREADS // 12, patience=20.0),
    "static": Gate(_THREADS // 48, _THREADS // 48),
    "usage": Gate(1, 1),  # what is counted of keys, and refused requests
}
WITHOUT_DATABASE = ("static",)


def open_connections() -> None:
    """Gives each slot its database connection; a server process calls this once."""
    for name, gate in GATES.items():
        if name not in WITHOUT_DATABASE:
            gate.open()


Tenant = UUID | SignedIn  # a workspace, or a user
_tenants: dict[int, Tenant] = {}  # by the hash of the Authorization header or the session's cookie
_TENANTS = 10_000  # how many are remembered


def tenant_of(credential: str) -> Tenant | None:
    """Who last used this header or cookie; None if it is not known yet.

    It only determines the queue: each request is authenticated by itself.
    """
    return _tenants.get(hash(credential))


def remember_tenant(credential: str, tenant: Tenant | None) -> None:
    """Notes whose key or session this is; None if it is nobody's, or not any more."""
    if tenant is None:
        _tenants.pop(hash(credential), None)
        return
    if len(_tenants) >= _TENANTS:
        _tenants.clear()
    _tenants[hash(credential)] = tenant
