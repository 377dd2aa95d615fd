"""Slots: how many requests run at once, so that one kind of request never stops another.

Each class of requests (documents, the API's other paths, downloads, pages for people, passwords)
has its own slots. A request without a free slot waits, at most `TIMEOUT` seconds and with a
limited number of others; then it is refused. Those that wait are served in turn by tenant, so that
a workspace with many requests delays its own; of two turns one is a signed-in user's, however many
others wait.

In a server process each slot has its own database connection: the number of connections depends
on the slots, not on the number of threads.
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import ConnStatus, PipelineStatus, TransactionStatus

from config.runtime.hints import Hints

TIMEOUT = 2.0  # seconds that a request waits for a slot
NOBODY = 0  # no thread has this number


class NoSlot(Exception):
    """No slot became free in time, or too many requests wait already."""


class SignedIn(NamedTuple):
    """A signed-in user as a tenant, who does not wait for all who are not signed in."""

    user_id: int


Waiter = Future[None]  # has a result once it has a slot; is cancelled if it is refused


class FairSemaphore:
    """The slots of one class of requests.

    Args:
        slots: requests that run at once.
        queue_size: requests that may wait. If there are more, the tenant with most of them loses
            one; signed-in users lose theirs only if nobody else waits.
        per_tenant: slots that one tenant may hold, so that another one's request need not wait.
        timeout: seconds that a request waits instead of `TIMEOUT`.
        error: what is raised if there is no slot.

    Attributes:
        in_use: slots that are held now.
        waiting: requests that wait now.
        refused: requests that got no slot since the process started.
    """

    def __init__(
        self,
        slots: int,
        queue_size: int,
        per_tenant: int | None = None,
        timeout: float | None = None,
        error: type[Exception] = NoSlot,
    ) -> None:
        self.in_use = 0
        self.waiting = 0
        self.refused = 0
        self._slots = slots
        self._queue_size = queue_size
        self._per_tenant = per_tenant or slots
        self._timeout = timeout
        self._error = error
        self._held: Counter[Hashable] = Counter()  # slots, by tenant
        self._lock = threading.Lock()
        self._queues: OrderedDict[Hashable, deque[Waiter]] = OrderedDict()  # by tenant, in turn
        self._turn = True  # whether a signed-in user is next, if one waits
        self._connections: list[BaseDatabaseWrapper] = []
        self._free: list[BaseDatabaseWrapper] = []

    def open(self) -> None:
        """Gives each slot a database connection, which connects when it is first used."""
        self._connections = [
            connections.create_connection(DEFAULT_DB_ALIAS) for _ in range(self._slots)
        ]
        self._free = list(self._connections)

    @property
    def connected(self) -> int:
        """How many database connections are open."""
        return sum(each.connection is not None for each in self._connections)

    def acquire(self, tenant: Hashable = None) -> None:
        """Takes a slot, and makes its database connection the thread's.

        Args:
            tenant: whose request it is.

        Raises:
            NoSlot: there is none; or the semaphore's own error.
        """
        with self._lock:
            waiter: Waiter | None = None
            if self.in_use < self._slots and self._held[tenant] < self._per_tenant:
                self._take(tenant)
            else:
                waiter = Future()
                self._queues.setdefault(tenant, deque()).append(waiter)
                self.waiting += 1
                if self.waiting > self._queue_size:
                    self._refuse_one()
        if waiter:
            self._wait(tenant, waiter)
        if self._connections:
            connections[DEFAULT_DB_ALIAS] = connection = self._free.pop()
            connection._thread_ident = threading.get_ident()  # type: ignore[attr-defined]

    def _take(self, tenant: Hashable) -> None:
        self.in_use += 1
        self._held[tenant] += 1

    def _refuse_one(self) -> None:
        """Refuses the last request of the tenant that has most waiting. Needs the lock."""
        others = [each for each in self._queues if not isinstance(each, SignedIn)]
        tenant = max(others or self._queues, key=lambda each: len(self._queues[each]))
        waiter = self._queues[tenant][-1]
        self._remove(tenant, waiter)
        waiter.cancel()

    def _remove(self, tenant: Hashable, waiter: Waiter) -> None:
        self._queues[tenant].remove(waiter)
        if not self._queues[tenant]:
            del self._queues[tenant]
        self.waiting -= 1
        self.refused += 1

    def _wait(self, tenant: Hashable, waiter: Waiter) -> None:
        try:
            waiter.result(TIMEOUT if self._timeout is None else self._timeout)
        except (CancelledError, TimeoutError):
            with self._lock:
                if not waiter.done():
                    self._remove(tenant, waiter)
                elif not waiter.cancelled():  # it got a slot just now
                    return
            raise self._error from None

    @contextmanager
    def begin(self, tenant: Hashable) -> Iterator[None]:
        """Takes a slot for a response that is made within this context, and releases it at its end.

        An exception within the context releases the slot too.
        """
        self.acquire(tenant)
        try:
            yield
        except BaseException:
            self.release(tenant)
            raise

    def release(self, tenant: Hashable = None) -> None:
        """Returns the slot that this thread holds; the next request in turn gets it.

        Django refuses to use the slot's connection from now on, wherever it was kept.
        """
        if self._connections:
            connection = connections[DEFAULT_DB_ALIAS]
            del connections[DEFAULT_DB_ALIAS]
            close_if_unusable(connection)
            connection._thread_ident = NOBODY  # type: ignore[attr-defined]
            self._free.append(connection)
        with self._lock:
            self.in_use -= 1
            self._held[tenant] -= 1
            if not self._held[tenant]:
                del self._held[tenant]
            waiting = [each for each in self._queues if self._held[each] < self._per_tenant]
            if not waiting:
                return
            in_turn = (each for each in waiting if isinstance(each, SignedIn) == self._turn)
            following = next(in_turn, waiting[0])
            self._turn = not isinstance(following, SignedIn)
            queue = self._queues.pop(following)
            self._take(following)
            self.waiting -= 1
            queue.popleft().set_result(None)
            if queue:
                self._queues[following] = queue  # at the end: the other tenants are first


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
# threads: a thread is always free to refuse a request, or for `/healthz`. As many of a kind
# may wait as nginx sends (max_conns in deploy/upstreams.conf): it costs less if nginx refuses.
SLOTS = {
    # More at once would be slower: Python runs one thread at a time.
    "documents": FairSemaphore(
        settings.API_SLOTS, _THREADS * 3 // 8, max(1, settings.API_SLOTS - 1)
    ),
    # `/me` and the events, which do not wait for a locked table of documents.
    "api": FairSemaphore(2, _THREADS // 8),
    # Until the first byte of the file.
    "download": FairSemaphore(
        settings.DOWNLOAD_SLOTS, _THREADS // 12, max(1, settings.DOWNLOAD_SLOTS - 1)
    ),
    "page": FairSemaphore(settings.PAGE_SLOTS, _THREADS // 24, max(1, settings.PAGE_SLOTS - 1)),
    # A hash takes a core for some tenths of a second. A long queue is served, rather than refused:
    # each address has its turn, and those who guess wait for theirs.
    "password": FairSemaphore(1, _THREADS // 12, timeout=20.0),
    "static": FairSemaphore(_THREADS // 48, _THREADS // 48),
    "usage": FairSemaphore(1, 1),  # what is counted of keys, and refused requests
}
WITHOUT_DATABASE = ("static",)


def open_connections() -> None:
    """Gives each slot its database connection; a server process calls this once.

    Django need not look after the connections of a thread at the beginning and end of a request any
    more: it has one within a slot only, and `release` closes that if it has to.
    """
    request_started.disconnect(reset_queries)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    for name, semaphore in SLOTS.items():
        if name not in WITHOUT_DATABASE:
            semaphore.open()


# Whose key or session it was, by the header or the cookie; it only chooses the queue.
TENANTS: Hints[UUID | SignedIn] = Hints()
