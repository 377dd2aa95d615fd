"""Slots: how many requests run at once, so that one kind of request never stops another.

Each class of requests (API, downloads, pages for people, health checks) has its own slots. A
request without a free slot waits, at most `PATIENCE` seconds and with a limited number of others;
then it is refused. Those that wait are served in turn by tenant, so that a workspace with many
requests delays its own.

In a server process each slot has its own database connection: the number of connections depends
on the slots, not on the number of threads.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable
from uuid import UUID

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import ConnStatus, TransactionStatus

PATIENCE = 2.0  # seconds that a request waits for a slot


class NoSlot(Exception):
    """No slot became free in time, or too many requests wait already."""


class _Waiter:
    """A request that waits; `granted` only changes under the gate's lock."""

    def __init__(self) -> None:
        self.granted = False
        self.ready = threading.Event()


class Gate:
    """The slots of one class of requests.

    Args:
        slots: requests that run at once.
        places: requests that may wait, all together.

    Attributes:
        in_use: slots that are held now.
        waiting: requests that wait now.
        refused: requests that got no slot since the process started.
    """

    def __init__(self, slots: int, places: int) -> None:
        self.in_use = 0
        self.waiting = 0
        self.refused = 0
        self._slots = slots
        self._places = places
        self._lock = threading.Lock()
        self._queues: OrderedDict[Hashable, deque[_Waiter]] = OrderedDict()  # one per tenant
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
            if self.in_use < self._slots:  # then nobody waits
                self.in_use += 1
                waiter = None
            elif self.waiting >= self._places:
                self.refused += 1
                raise NoSlot
            else:
                waiter = _Waiter()
                self._queues.setdefault(tenant, deque()).append(waiter)
                self.waiting += 1
        if waiter and not waiter.ready.wait(PATIENCE):
            self._give_up(tenant, waiter)
        if self._connections:
            connections[DEFAULT_DB_ALIAS] = self._free.pop()

    def _give_up(self, tenant: Hashable, waiter: _Waiter) -> None:
        with self._lock:
            if waiter.granted:  # just now
                return
            queue = self._queues[tenant]
            queue.remove(waiter)
            if not queue:
                del self._queues[tenant]
            self.waiting -= 1
            self.refused += 1
        raise NoSlot

    def leave(self) -> None:
        """Returns the slot that this thread holds, or hands it to the next tenant's request."""
        if self._connections:
            connection = connections[DEFAULT_DB_ALIAS]
            del connections[DEFAULT_DB_ALIAS]
            close_if_unusable(connection)
            self._free.append(connection)
        with self._lock:
            if not self._queues:
                self.in_use -= 1
                return
            tenant, queue = self._queues.popitem(last=False)
            waiter = queue.popleft()
            if queue:
                self._queues[tenant] = queue  # at the end: the other tenants are first
            self.waiting -= 1
            waiter.granted = True
        waiter.ready.set()


def close_if_unusable(connection: BaseDatabaseWrapper) -> None:
    """Closes a connection that is broken or was left in a transaction.

    Django would send a query to find out, which could wait for a silent database.
    """
    raw = connection.connection
    if raw is not None and (
        raw.pgconn.status != ConnStatus.OK
        or raw.pgconn.transaction_status != TransactionStatus.IDLE
    ):
        connection.close()
    connection.errors_occurred = False


_THREADS = settings.SERVER_THREADS
# All that run and wait together, and the downloads that this process sends, are fewer than the
# threads: a thread is always free to refuse a request, or for `/healthz`.
GATES = {
    # More at once would be slower: Python runs one thread at a time.
    "api": Gate(settings.API_SLOTS, _THREADS * 3 // 8),
    "download": Gate(settings.DOWNLOAD_SLOTS, _THREADS // 8),  # until its first byte
    "page": Gate(settings.PAGE_SLOTS, _THREADS // 16),
    "static": Gate(_THREADS // 32, _THREADS // 32),
    "completion": Gate(1, _THREADS // 4),  # of downloads, whose threads they hold
}
WITHOUT_DATABASE = ("static",)


def open_connections() -> None:
    """Gives each slot its database connection; a server process calls this once."""
    for name, gate in GATES.items():
        if name not in WITHOUT_DATABASE:
            gate.open()


_tenants: dict[int, UUID] = {}  # workspaces by the hash of the Authorization header
_TENANTS = 10_000  # how many are remembered


def tenant_of(authorization: str) -> UUID | None:
    """The workspace that last used this header; None if it is not known yet.

    It only determines the queue: each request is authenticated by itself.
    """
    return _tenants.get(hash(authorization))


def remember_tenant(authorization: str, workspace_id: UUID) -> None:
    """Notes whose key this is."""
    if len(_tenants) >= _TENANTS:
        _tenants.clear()
    _tenants[hash(authorization)] = workspace_id
