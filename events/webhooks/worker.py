"""A process that delivers: it claims what is due, makes the attempts, and records them.

The attempts run on an event loop; one thread has the connection to the database.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from uuid import UUID

from django.db import Error as DatabaseError
from django.db import connection
from prometheus_client import Counter

from config.management.progress import first_line
from config.management.shutdown import Shutdown, Stopped
from config.request_context import deadline
from events.models import public_id
from events.webhooks import queue, upkeep
from events.webhooks.queue import Claim, Result
from events.webhooks.sending import SECONDS, attempt
from events.webhooks.statements import CLAIM_SECONDS

logger = logging.getLogger(__name__)
T = TypeVar("T")

LANE = 100  # attempts at once of endpoints that work, and as many of those that fail or are slow
MOST = 4 * LANE  # attempts at once
SLOW_SECONDS = 2.0  # an attempt that takes longer makes its endpoint a slow one
IDLE_SECONDS = 0.5  # between two looks for what is due
PAUSE_SECONDS = 0.05  # the same while there is work; what becomes due meanwhile is one batch
RENEW_SECONDS = CLAIM_SECONDS / 3  # between two renewals of the claims in progress
DATABASE_SECONDS = 20.0  # for one call of the database
STOP_SECONDS = SECONDS + 5.0  # for the attempts in progress after a signal

ATTEMPTS = Counter("documents_webhooks_attempts", "Attempts of webhook deliveries", ["result"])
for _result in ("succeeded", "failed"):
    ATTEMPTS.labels(_result)  # from 0 on: Prometheus sees no increase to a first value


class Worker:
    """One process's attempts."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "database")
        self._running: dict[asyncio.Task[None], tuple[float, Claim]] = {}  # with their start
        self._renewed = 0.0
        self._ended: list[Result] = []
        self._slow: set[UUID] = set()
        self._wake = asyncio.Event()  # an attempt has ended

    async def run(self, shutdown: Shutdown) -> None:
        """Delivers until a signal; then ends what is in progress."""
        saying = asyncio.create_task(self._say_that_it_is_there())
        try:
            while True:
                shutdown.check()
                await self._cycle(claims=True)
        except Stopped:
            end = time.monotonic() + STOP_SECONDS
            while (self._running or self._ended) and time.monotonic() < end:
                await self._cycle(claims=False)
        finally:
            saying.cancel()
            self._thread.submit(lambda: connection.close())  # the thread's own
            self._thread.shutdown()

    async def _cycle(self, *, claims: bool) -> None:
        """Records what has ended, claims what is due, and waits for a moment."""
        started = time.monotonic()
        worked = False
        self._wake.clear()
        try:
            if ended := self._ended[:]:
                worked = True
                await self._in_database(upkeep.record, ended)
                del self._ended[: len(ended)]
            if claims:
                for claim in await self._in_database(queue.claim, *self._free(), self._slow):
                    worked = True
                    task = asyncio.create_task(self._attempt(claim))
                    self._running[task] = time.monotonic(), claim
            await self._renew()
        except DatabaseError as exc:
            logger.error("The database: %s; trying again.", first_line(exc))
            await asyncio.sleep(IDLE_SECONDS)
            return
        if worked:  # a database that is slow is asked less often
            took = time.monotonic() - started
            await asyncio.sleep(max(PAUSE_SECONDS, took))
        else:
            await _wait(self._wake, IDLE_SECONDS)

    async def _renew(self) -> None:
        """Keeps the claims of the attempts in progress."""
        if self._running and self._renewed < time.monotonic() - RENEW_SECONDS:
            claims = [claim for _, claim in self._running.values()]
            await self._in_database(queue.renew, claims)
            self._renewed = time.monotonic()

    def _free(self) -> tuple[int, int]:
        """How many attempts may start, of endpoints that work and of troubled ones.

        An attempt that takes long counts as one of a troubled endpoint, so that endpoints that
        become slow all at once do not stop the others.
        """
        long_ago = time.monotonic() - SLOW_SECONDS
        troubled = sum(
            claim.troubled or start < long_ago for start, claim in self._running.values()
        )
        most = MOST - len(self._running)
        free = min(most, LANE - (len(self._running) - troubled))
        return free, max(0, min(most - free, LANE - troubled))

    async def _attempt(self, claim: Claim) -> None:
        result = await attempt(claim)
        self._ended.append(result)
        slow = result.milliseconds > SLOW_SECONDS * 1000
        (self._slow.add if slow else self._slow.discard)(claim.endpoint_id)
        ATTEMPTS.labels("succeeded" if result.succeeded else "failed").inc()
        logger.info(
            "Delivery %d of %s to endpoint %s: %s in %d ms",
            claim.id,
            public_id(claim.event_id),
            claim.endpoint_id,
            result.error or f"status {result.status}",
            result.milliseconds,
        )
        del self._running[asyncio.current_task()]  # type: ignore[arg-type] # it is a task
        self._wake.set()

    async def _say_that_it_is_there(self) -> None:
        while True:
            try:
                await self._in_database(upkeep.seen)
            except DatabaseError as exc:
                logger.error("The database: %s", first_line(exc))
            await asyncio.sleep(upkeep.SEEN_SECONDS)

    async def _in_database(self, call: Callable[..., T], *args: Any) -> T:
        """Calls a function in the thread that has the database connection."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _guarded, call, *args)


def _guarded(call: Callable[..., T], *args: Any) -> T:
    """Calls it with a deadline; a connection that has failed is replaced."""
    token = deadline.set(time.monotonic() + DATABASE_SECONDS)
    try:
        return call(*args)
    except DatabaseError:
        connection.close()
        raise
    finally:
        deadline.reset(token)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
