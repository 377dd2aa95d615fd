"""A process that delivers: it claims what is due, makes the attempts, and saves their results.

The attempts run on an event loop; one thread has the connection to the database.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import connection, connections
from prometheus_client import Counter

from config.management.progress import first_line
from config.management.shutdown import Shutdown, Stopped
from events.webhooks import monitoring, queue, services
from events.webhooks.models import Attempt, Delivery
from events.webhooks.policy import ATTEMPT_SECONDS
from events.webhooks.sender import attempt

logger = logging.getLogger(__name__)
T = TypeVar("T")

MOST = 400  # attempts at once
IDLE_SECONDS = 0.5  # between two looks for what is due
PAUSE_SECONDS = 0.05  # the same while there is work; what becomes due meanwhile is one batch
DATABASE_SECONDS = 20.0  # for one call of the database
STOP_SECONDS = ATTEMPT_SECONDS + 5.0  # for the attempts in progress after a signal

ATTEMPTS = Counter("documents_webhooks_attempts", "Attempts of webhook deliveries", ["result"])
for _result in ("succeeded", "failed"):
    ATTEMPTS.labels(_result)  # from 0 on: Prometheus sees no increase to a first value


class Worker:
    """One process's attempts."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._ended: list[Attempt] = []
        self._wake = asyncio.Event()  # an attempt has ended
        self._seen = 0.0  # when this process last said that it is there

    async def run(self, shutdown: Shutdown) -> None:
        """Delivers until a signal; then ends what is in progress."""
        try:
            while True:
                shutdown.check()
                await self._cycle(claims=True)
        except Stopped:
            end = time.monotonic() + STOP_SECONDS
            while (self._running or self._ended) and time.monotonic() < end:
                await self._cycle(claims=False)
        finally:
            await _in_database(connections.close_all)

    async def _cycle(self, *, claims: bool) -> None:
        """Saves what has ended, claims what is due, and waits for a moment."""
        started = time.monotonic()
        worked = False
        self._wake.clear()
        try:
            if self._seen < started - monitoring.SEEN_SECONDS:
                await _in_database(monitoring.say_seen)
                self._seen = started
            if ended := self._ended[:]:
                worked = True
                await _in_database(services.save_results, ended)
                del self._ended[: len(ended)]
            if claims:
                for delivery in await _in_database(queue.claim, MOST - len(self._running)):
                    worked = True
                    self._running.add(asyncio.create_task(self._attempt(delivery)))
        except DatabaseError as exc:
            logger.error("The database: %s; trying again.", first_line(exc))
            await asyncio.sleep(IDLE_SECONDS)
            return
        if worked:  # a database that is slow is asked less often
            took = time.monotonic() - started
            await asyncio.sleep(max(PAUSE_SECONDS, took))
        else:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), IDLE_SECONDS)

    async def _attempt(self, delivery: Delivery) -> None:
        made = await attempt(delivery)
        self._ended.append(made)
        ATTEMPTS.labels("succeeded" if made.succeeded else "failed").inc()
        logger.info(
            "Delivery %d of %s to endpoint %s: %s in %d ms",
            delivery.pk,
            delivery.public_event_id,
            delivery.endpoint_id,
            made.error or f"status {made.status}",
            made.milliseconds,
        )
        self._running.remove(asyncio.current_task())  # type: ignore[arg-type] # it is a task
        self._wake.set()


async def _in_database(call: Callable[..., T], *args: Any) -> T:
    """Calls a function in the thread that has the database connection.

    A connection that has failed is replaced.
    """

    def guarded() -> T:
        try:
            return call(*args)
        except DatabaseError:
            connection.close()
            raise

    return await sync_to_async(guarded)()
